/**
 * Loaded by bunfig.toml before the tests: every test file has the generous time-out, also one that is run alone. Bun reads
 * no time-out from bunfig.toml, and takes back what a preloaded module sets as soon as the first file ends.
 */
import { plugin } from 'bun';
import { testTimeoutMs } from './wait.ts';

plugin({
  name: 'time-out',
  setup(build) {
    build.onLoad({ filter: /\.test\.ts$/ }, async ({ path }) => ({
      // On the first line, so that failures name the right ones.
      contents: `import { setDefaultTimeout as allow } from 'bun:test'; allow(${testTimeoutMs}); ${await Bun.file(path).text()}`,
      loader: 'ts',
    }));
  },
});
