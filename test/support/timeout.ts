/**
 * Sets a long timeout in every test file, including files that run alone. bunfig.toml preloads this module, because Bun
 * does not read a test timeout from bunfig.toml. The plugin adds the call to each file, because a timeout that a
 * preloaded module sets applies only to the first file.
 */
import { plugin } from 'bun';
import { testTimeoutMs } from './wait.ts';

plugin({
  name: 'timeout',
  setup(build) {
    build.onLoad({ filter: /\.test\.ts$/ }, async ({ path }) => ({
      // Added to the first line, so that failures report the correct line numbers.
      contents: `import { setDefaultTimeout as allow } from 'bun:test'; allow(${testTimeoutMs}); ${await Bun.file(path).text()}`,
      loader: 'ts',
    }));
  },
});
