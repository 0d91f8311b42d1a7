/**
 * Preloaded by bunfig.toml to set a generous time-out for every test file, including files that run alone. Bun does not read a
 * time-out from bunfig.toml, and resets the value of a preloaded module at the end of the first file.
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
