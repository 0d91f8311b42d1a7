/** Builds the client package and installs it in a project, as users do. */
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from './process.ts';

/** Runs the TypeScript compiler. Throws an error with the compiler's output if it fails. */
export async function compile(...options: string[]): Promise<void> {
  const child = Bun.spawn([join(root, 'node_modules/.bin/tsc'), ...options], {
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(output + errors);
}

/** Compiles programs in strict mode. Throws an error with the compiler's output if it fails. */
export function compileStrictly(...files: string[]): Promise<void> {
  const strict = [
    '--strict',
    '--exactOptionalPropertyTypes',
    '--noUncheckedIndexedAccess',
    '--noUnusedLocals',
  ];
  const options = ['--noEmit', '--target', 'es2022', '--module', 'nodenext', '--types', 'bun'];
  return compile(...strict, ...options, '--skipLibCheck', '--ignoreConfig', ...files);
}

/** Builds the package from source, like `npm pack`, and installs it in a project's `node_modules`. */
export async function installClient(project: string, { commonJs = false } = {}): Promise<void> {
  const target = join(project, 'node_modules/@animal-store/client');
  await compile('--project', join(root, 'client'), '--outDir', join(target, 'dist'));
  if (commonJs) {
    await compile('--project', join(root, 'client/cjs'), '--outDir', join(target, 'cjs/dist'));
    await Bun.write(join(target, 'cjs/package.json'), Bun.file(join(root, 'client/cjs/package.json')));
  }
  await Bun.write(join(target, 'package.json'), Bun.file(join(root, 'client/package.json')));
  await symlink(join(root, 'node_modules/@types'), join(project, 'node_modules/@types'));
}
