/**
 * Measures branch coverage of a test run, because Bun measures only line coverage. Preload this file: it instruments
 * each module as it is loaded, and writes the counts to the file named by BRANCHES.
 */
import { afterAll } from 'bun:test';
import { plugin } from 'bun';
import { createInstrumenter } from 'istanbul-lib-instrument';

const coverageVariable = '__branches__';

const instrumenter = createInstrumenter({
  esModules: true,
  parserPlugins: ['typescript', 'importAttributes', 'explicitResourceManagement'],
  coverageVariable,
});

plugin({
  name: 'branches',
  setup(build) {
    build.onLoad({ filter: /\/src\/.*(?<!\.d)\.ts$/ }, async ({ path }) => ({
      contents: instrumenter.instrumentSync(await Bun.file(path).text(), path),
      loader: 'ts',
    }));
  },
});

// Bun does not emit the process `exit` event in a test run.
afterAll(async () => {
  const counts: unknown = Reflect.get(globalThis, coverageVariable);
  await Bun.write(process.env.BRANCHES ?? '', JSON.stringify(counts));
});
