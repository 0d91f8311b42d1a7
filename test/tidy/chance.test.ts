/** Checks that no test depends on random data, random timing, a fixed port or Bun's default timeout of 5 s. */
import { expect, test } from 'bun:test';
import { type Allowances, refuseBeyond } from './allowance.ts';
import { bare, codeIn, projectFiles, type Source } from './sources.ts';

// Excludes the samples in these tests, which would violate the rules.
const tests = codeIn(projectFiles(), 'test').filter(({ path }) => !path.startsWith('test/tidy/'));
const bareTests = tests.map(({ path, text }) => ({ path, text: bare(text) }));

/** Matches in each file, as `file:line`. A pattern may span several lines. */
function placesOf(files: readonly Source[], pattern: RegExp): Map<string, string[]> {
  const lineAt = (text: string, index: number) => text.slice(0, index).split('\n').length;
  return new Map(
    files.map(({ path, text }) => [
      path,
      [...text.matchAll(pattern)].map(({ index }) => `${path}:${lineAt(text, index)}`),
    ]),
  );
}

const random = /\b(?:Math\.random|getRandomValues|randomUUID|randomInt|randomBytes)\(/g;
const sleepThenKill =
  /\b(?:Bun\.sleep|sleep|setTimeout)\((?:[^;]*;){1,3}?[^;]*(?:\bkill\(|\.signal\(|\.stop\( {9,}\))/g;
const someOccurred = /^\s*expect\(.*\)\.(?:toBeGreaterThan\([01]n?\)|toBeGreaterThanOrEqual\([12]n?\))/gm;
/** Matched against code that includes strings. */
const fixedPort =
  /\b(?:startTestApp|startService|startInstance|startCluster|startConsole|place\.serve|Bun\.serve)\([^;]{0,300}?\b(?:ADMIN_)?(?:PORT|port): '?[1-9][\d_]{2,5}\b|\.listen\([1-9]/g;

test('test data is not random without a seed', () => {
  const allowed: Allowances = {
    'test/support/server-process.ts': [1, 'If a port is taken, another port is tried.'],
  };
  const advice = 'Use randomFrom(seed) of test/support/random.ts, or always() of test/support/property.ts:';
  refuseBeyond(allowed, advice, placesOf(bareTests, random));
});

test('no test relies on a sleep before killing a process', () => {
  const advice =
    'Wait for the event that must precede the kill: said(), logged(), until(), a held proxy, or test/faults/strace.ts:';
  refuseBeyond({}, advice, placesOf(bareTests, sleepThenKill));
});

test('no test expects a random event to occur at least once', () => {
  const files = bareTests.filter(({ path }) =>
    /^test\/(?:faults|process|robustness|supervisor)\//.test(path),
  );
  const advice =
    'Inject the fault at a defined point, or repeat until each case has occurred, with a bound that bad luck cannot exceed:';
  refuseBeyond(someAllowed, advice, placesOf(files, someOccurred));
});

const someAllowed: Allowances = {
  'test/faults/disk.test.ts': [1, 'The disk is large enough for the first requests.'],
  'test/faults/disk.ts': [1, 'The minimum of a header.'],
  'test/faults/syscalls.test.ts': [1, 'The faults of a sync last until a creation has been affected.'],
};

test('no test listens on a fixed port', () => {
  refuseBeyond({}, 'Use port 0 and read the port that the system chose:', placesOf(tests, fixedPort));
});

test('every test file has the long timeout, even if it runs alone', async () => {
  const { test: settings } = Bun.TOML.parse(
    await Bun.file(new URL('../../bunfig.toml', import.meta.url)).text(),
  ) as {
    test: { preload: string[] };
  };
  // Bun does not read a test timeout from bunfig.toml, so a preloaded file sets it.
  expect(settings.preload).toContain('./test/support/timeout.ts');
});

test('the patterns match forbidden code and nothing else', () => {
  const matches = (pattern: RegExp, text: string) => [...text.matchAll(pattern)].length;
  expect(matches(random, 'const id = crypto.randomUUID(); makeKey(randomBytes)')).toBe(1);
  expect(matches(sleepThenKill, bare("await Bun.sleep(50);\nservice.signal('SIGKILL');"))).toBe(1);
  expect(matches(sleepThenKill, bare("await sleep(50);\nawait server.stop('SIGKILL');"))).toBe(1);
  expect(matches(sleepThenKill, bare('await Bun.sleep(50);\nawait load.stop();'))).toBe(0);
  expect(matches(someOccurred, bare("  expect(figures['kills']).toBeGreaterThan(0);"))).toBe(1);
  expect(matches(fixedPort, "await startTestApp({ A: '1', PORT: '8080' });\nserver.listen(8080);")).toBe(2);
  expect(matches(fixedPort, "readConfig({ PORT: '8080' }); startTestApp({ PORT: '0' });")).toBe(0);
});
