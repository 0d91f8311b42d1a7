/**
 * Starts the threads of the service from bundles, as the executable does, if BUNDLED_THREADS names their folder. Loading
 * every module from source again would account for a fifth of the CPU time of the tests. bunfig.toml preloads this module.
 */
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from './folder.ts';

interface BundledThreads extends AsyncDisposable {
  readonly environment: { readonly BUNDLED_THREADS: string };
}

const source = fileURLToPath(new URL('../../src/', import.meta.url));
const threads = ['app/writer-thread.ts', 'webhooks/receiver-thread.ts'];

export async function bundleThreads(): Promise<BundledThreads> {
  const folder = await temporaryFolder();
  await Bun.build({
    entrypoints: threads.map((file) => join(source, file)),
    outdir: folder.path,
    naming: { entry: '[name].[ext]' },
    target: 'bun',
    format: 'cjs',
    bytecode: true,
    minify: { whitespace: true },
  });
  return {
    environment: { BUNDLED_THREADS: folder.path },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

const bundles = process.env.BUNDLED_THREADS;
if (bundles !== undefined) useBundles(bundles);

function useBundles(folder: string): void {
  const names = threads.map((file) => basename(file));
  globalThis.Worker = class extends Worker {
    constructor(module: string | URL, options?: WorkerOptions) {
      const name = basename(String(module));
      super(names.includes(name) ? join(folder, name.replace(/\.ts$/, '.js')) : module, options);
    }
  };
}
