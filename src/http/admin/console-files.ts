/** The console's files. The build of the standalone executable replaces this module. */
import { fileURLToPath } from 'node:url';

interface ConsoleFile {
  readonly type: string;
  readonly body: Blob;
}

/**
 * Console files by path, such as `/` and `/assets/main-3f2a1b.js`. Names under `/assets/` contain a hash of the
 * content.
 */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

const page = '../../../console/index.html';

/**
 * Bundles the console. This takes about 50 ms outside the event loop, and permanently uses 6 MB of memory. Throws an
 * `AggregateError`.
 */
export async function bundleConsole(): Promise<ConsoleFiles> {
  const { outputs } = await Bun.build({
    entrypoints: [fileURLToPath(new URL(page, import.meta.url))],
    target: 'browser',
    minify: true,
    // Without this, the bundle would contain development-only code.
    define: { 'process.env.NODE_ENV': '"production"' },
    publicPath: '/',
    naming: {
      entry: '[name].[ext]',
      chunk: 'assets/[name]-[hash].[ext]',
      asset: 'assets/[name]-[hash].[ext]',
    },
  });
  return new Map(
    outputs.map((output) => {
      const path = output.path.replace(/^\.?\/*/, '/');
      return [path === '/index.html' ? '/' : path, { type: output.type, body: output }];
    }),
  );
}
