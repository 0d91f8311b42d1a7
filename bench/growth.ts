import type { Options } from './options.ts';

export async function measureGrowth(_options: Options, _folder: string): Promise<void> {
  throw new Error('not measured yet');
}
