/**
 * The executable from `npm run build`, which slow tests start as the service if BUILT_PROGRAM is its path. It starts with
 * half the CPU time of the source.
 */
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from './folder.ts';

export const builtProgramVariable = 'BUILT_PROGRAM';

export interface BuiltProgram extends AsyncDisposable {
  readonly path: string;
  /** Output of the build. */
  readonly said: string;
}

/** Builds the executable in an otherwise empty folder, from which every user may run it. */
export async function buildProgram(): Promise<BuiltProgram> {
  await using made = new AsyncDisposableStack();
  const folder = made.use(await temporaryFolder());
  await chmod(folder.path, 0o755);
  const path = join(folder.path, 'animal-store');
  const build = fileURLToPath(new URL('../../scripts/build.ts', import.meta.url));
  const building = Bun.spawn([process.execPath, build, path], { stdout: 'pipe', stderr: 'pipe' });
  const [said, errors] = await Promise.all([building.stdout.text(), building.stderr.text()]);
  if ((await building.exited) !== 0) throw new Error(said + errors);
  const kept = made.move();
  return { path, said, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
