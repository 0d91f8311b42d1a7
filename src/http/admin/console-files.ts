/** The files of the console. A build of the program as one file puts a module with finished ones in this one's place. */
import { fileURLToPath } from 'node:url';

interface ConsoleFile {
  readonly type: string;
  readonly body: Blob;
}

/** By their path, such as `/` and `/assets/main-3f2a1b.js`. Those below `/assets/` have their content's hash in their names. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

const page = '../../../console/index.html';

/** Bundles the console: takes some 50 ms beside the event loop, and 6 MB that stay. Throws an `AggregateError`. */
export async function consoleFiles(): Promise<ConsoleFiles> {
  const { outputs } = await Bun.build({
    entrypoints: [fileURLToPath(new URL(page, import.meta.url))],
    target: 'browser',
    minify: true,
    // Without it, what only developers need would come along.
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
