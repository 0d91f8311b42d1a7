/**
 * Builds the service as a single executable without dependencies: `bun scripts/build.ts [FILE]`. The executable bundles
 * the current runtime, so it runs only on machines with the same operating system, processor architecture and C library
 * as this one.
 */
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleConsole } from '../src/http/admin/console-files.ts';

const source = fileURLToPath(new URL('../src/', import.meta.url));

/**
 * Threads are entry points because they are started by file name rather than imported (see `app/store.ts` and
 * `webhooks/receivers.ts`).
 */
const entrypoints = ['main.ts', 'app/writer-thread.ts', 'webhooks/receiver-thread.ts'].map((file) =>
  join(source, file),
);

/** URL scheme for imports of the bundled console files. */
const scheme = 'finished:';

/** Replaces the module that bundles the console with one that contains the prebuilt bundle. */
async function finishedConsole(): Promise<Bun.BunPlugin> {
  const files = await Promise.all(
    [...(await bundleConsole())].map(async ([path, { type, body }]) => ({
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
  const contents = [...imports, 'export const bundleConsole = async () => new Map([', ...entries, ']);'].join(
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

/**
 * Builds the file and returns its size in bytes. Replaces an existing executable atomically, even while it is running.
 */
async function build(file: string): Promise<number> {
  await mkdir(dirname(file), { recursive: true });
  const folder = await mkdtemp(join(dirname(file), '.build-'));
  try {
    const outfile = join(folder, basename(file));
    await Bun.build({
      entrypoints,
      // Puts all entry points in one folder, so that a thread is found by the module that starts it.
      naming: { entry: '[name].[ext]' },
      root: source,
      plugins: [await finishedConsole()],
      // Bytecode halves the startup time of commands.
      format: 'esm',
      bytecode: true,
      // Preserves names and source maps for stack traces.
      minify: { whitespace: true, syntax: true },
      sourcemap: 'inline',
      // Removes machine-specific paths, so that builds are reproducible.
      define: { __dirname: '"/"' },
      // Keeps the runtime from reading .env and bunfig.toml in the working directory. The program reads .env.
      compile: { outfile, autoloadDotenv: false, autoloadBunfig: false },
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
