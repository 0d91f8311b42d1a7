/**
 * Builds the whole service into one file, which needs nothing else where it runs: `bun scripts/build.ts [FILE]`. It is
 * for machines like this one (system, processor, C library), because this runtime goes into it.
 */
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { consoleFiles } from '../src/http/admin/console-files.ts';

const source = fileURLToPath(new URL('../src/', import.meta.url));

/** The writer's thread is started by its name, not imported: see `app/store.ts`. */
const entrypoints = ['main.ts', 'app/writer-thread.ts'].map((file) => join(source, file));

/** How the finished files of the console are imported. */
const scheme = 'finished:';

/** Puts a module with the finished files of the console in the place of the one that bundles them. */
async function finishedConsole(): Promise<Bun.BunPlugin> {
  const files = await Promise.all(
    [...(await consoleFiles())].map(async ([path, { type, body }]) => ({
      path,
      type,
      bytes: new Uint8Array(await body.arrayBuffer()),
    })),
  );
  const imports = files.map(
    ({ path }, index) => `import file${index} from ${JSON.stringify(scheme + path)};`,
  );
  const entries = files.map(
    ({ path, type }, index) =>
      `[${JSON.stringify(path)}, { type: ${JSON.stringify(type)}, body: Bun.file(file${index}) }],`,
  );
  const contents = [...imports, 'export const consoleFiles = async () => new Map([', ...entries, ']);'].join(
    '\n',
  );
  return {
    name: 'finished console',
    setup(build) {
      build.onLoad({ filter: /\/http\/admin\/console-files\.ts$/ }, () => ({ contents, loader: 'js' }));
      build.onResolve({ filter: /^finished:/ }, ({ path }) => ({
        path: path.slice(scheme.length),
        namespace: 'finished',
      }));
      build.onLoad({ filter: /./, namespace: 'finished' }, ({ path }) => {
        const contents = files.find((file) => file.path === path)?.bytes;
        if (contents === undefined) throw new Error(`The console has no file ${path}.`);
        return { contents, loader: 'file' };
      });
    },
  };
}

/** Builds the file and returns its size in bytes. What was there before is replaced at once, also while it runs. */
async function build(file: string): Promise<number> {
  await mkdir(dirname(file), { recursive: true });
  const folder = await mkdtemp(join(dirname(file), '.build-'));
  try {
    const outfile = join(folder, basename(file));
    await Bun.build({
      entrypoints,
      // Flat, so that the writer's thread has the same path relative to its importer as in the sources.
      naming: { entry: '[name].[ext]' },
      root: source,
      plugins: [await finishedConsole()],
      // Compiled ahead, commands start in half the time.
      format: 'esm',
      bytecode: true,
      // Names stay, for stack traces; so do the places in the sources, inside the file.
      minify: { whitespace: true, syntax: true },
      sourcemap: 'inline',
      // A package that asks where it lies is not told of this machine: the same sources make the same bytes everywhere.
      define: { __dirname: '"/"' },
      // A bunfig.toml where it happens to be started is nothing that this program reads.
      compile: { outfile, autoloadDotenv: true, autoloadBunfig: false },
    });
    await rename(outfile, file);
    return Bun.file(file).size;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const file = resolve(process.argv[2] ?? fileURLToPath(new URL('../dist/animal-store', import.meta.url)));
const startMs = performance.now();
const bytes = await build(file);
const seconds = (performance.now() - startMs) / 1_000;
process.stdout.write(`${file}   ${(bytes / 1e6).toFixed(1)} MB   built in ${seconds.toFixed(1)} s\n`);
