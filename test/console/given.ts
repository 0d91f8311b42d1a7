/** What the tests of the console begin with. */
import { afterAll, afterEach, expect } from 'bun:test';
import { browserCommand } from '../support/browser.ts';
import { startConsole, type TestConsole } from '../support/console.ts';
import { testWith } from '../support/requirements.ts';

export const testInBrowser = testWith({ name: 'Chromium', package: 'chromium' }, [
  browserCommand,
  '--version',
]);

/** The console for the tests of a file, started when the first one asks; after each, no page may have had a problem. */
export function consoleOfTests(settings?: Readonly<Record<string, string>>): () => Promise<TestConsole> {
  let started: Promise<TestConsole> | undefined;
  afterEach(async () => {
    expect(await (await started)?.closePages()).toBeOneOf([undefined, []]);
  });
  afterAll(async () => (await started)?.[Symbol.asyncDispose]());
  return () => {
    started ??= startConsole(settings);
    return started;
  };
}
