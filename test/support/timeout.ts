/**
 * Sets a generous timeout for every test file, including files that run alone. bunfig.toml preloads this file, because
 * Bun does not read a test timeout from bunfig.toml. A timeout set in a preloaded module would end with the first file.
 */
import { plugin } from 'bun';
import { testTimeoutMs } from './wait.ts';

plugin({
  name: 'timeout',
  setup(build) {
    build.onLoad({ filter: /\.test\.ts$/ }, async ({ path }) => ({
      // On the first line, so that failures name the right ones.
      contents: `import { setDefaultTimeout as allow } from 'bun:test'; allow(${testTimeoutMs}); ${await Bun.file(path).text()}`,
      loader: 'ts',
    }));
  },
});
