/** Checks that tests wait for events rather than fixed delays, because machine speed can vary tenfold. */
import { expect, test } from 'bun:test';
import { bare, codeIn, linesMatching, projectFiles, refuse } from './sources.ts';

// Excludes stress tests, which pace their load and measure durations.
const tests = codeIn(projectFiles(), 'test')
  .filter(({ path }) => !path.startsWith('test/stress/'))
  .map(({ path, text }) => ({ path, text: bare(text) }));

/**
 * Allowed number of sleeps per file that do not wait for an event, such as pauses between requests, delays before
 * processes are killed, proxy delays and timeouts. The numbers may decrease but never increase.
 */
const sleepsAllowed: Readonly<Record<string, number>> = {
  'test/process/stop.test.ts': 1,
  'test/storage/hold-lock.ts': 1,
  'test/support/load.ts': 2,
  'test/support/lock.ts': 1,
  'test/support/wait.ts': 1,
  'test/support/process.ts': 1,
  'test/support/tcp-proxy.ts': 1,
};

test('no test sleeps instead of waiting for a condition', () => {
  const asleep = /^(?!\s*while \(.*\) await).*(?:\bBun\.sleep|\bawait sleep|(?<![.\w])setTimeout)\(/;
  const found = tests.map(({ path, text }) => ({ path, places: linesMatching(path, text, asleep) }));
  refuse(
    'Use until() of test/support/wait.ts, logged() of a process, or the FakeClock:',
    found.flatMap(({ path, places }) => (places.length > (sleepsAllowed[path] ?? 0) ? places : [])),
  );
  for (const { path, places } of found) {
    if (places.length < (sleepsAllowed[path] ?? 0)) throw new Error(`Allow ${path} ${places.length} only.`);
  }
});

test('no test asserts a duration', () => {
  const timed = /expect\(.*(?:performance\.now|Date\.now\(\) -|elapsed|took|\w+Ms\b).*\)\.toBeLessThan/;
  const found = tests.flatMap(({ path, text }) => linesMatching(path, text, timed));
  refuse(
    'Expect an event that occurs only, or first, if the code was fast enough. Measure durations in a stress test:',
    found,
  );
});

test('no test sets a timeout', () => {
  const found = tests.flatMap(({ path, text }) => [
    ...linesMatching(path, text, /\bsetDefaultTimeout\((?!.*maxWaitMs)/),
    ...ownTimeouts(text).map((line) => `${path}:${line}`),
  ]);
  refuse(
    'Remove the timeout. test/support/timeout.ts sets a long timeout in every test file, which ends only hung tests:',
    found,
  );
});

/** Numbers of the lines on which a test ends with a timeout argument after its function. */
function ownTimeouts(text: string): number[] {
  const lines = text.split('\n');
  return lines.flatMap((line, index) => {
    const [, indent] =
      /^( *)\}, [\d_]+\);$/.exec(line) ?? /^( *) {2}(?:\w*[tT]imeout\w*|[\d_]+),$/.exec(line) ?? [];
    if (indent === undefined) return [];
    const head = lines.slice(0, index).findLast((above) => new RegExp(`^${indent}[^ })]`).test(above)) ?? '';
    return /^ *(?:test|check)\w*[.(]/.test(head) ? [index + 1] : [];
  });
}

test('a timeout is recognized regardless of how it is written', () => {
  const short = ["test('a', async () => {", '  b();', '}, 5_000);'];
  const long = ["testWith('a')(", "  'b',", '  () => {', '  },', '  timeoutMs,', ');'];
  const none = ['always(', '  cases,', '  () => {', '  },', '  5_000,', ');', "test('a', () => {", '});'];
  expect([short, long, none].map((lines) => ownTimeouts(lines.join('\n')))).toEqual([[3], [5], []]);
});
