import { test } from 'bun:test';

/**
 * Tests that need something of the machine. Where it is missing they say so in a line of their own and are
 * skipped; in CI (`CI=true`) they fail, so that nothing stays unproven unnoticed, unless CI need not have it.
 */
export function testWith(
  means: string,
  command: readonly string[],
  inCi: 'required' | 'optional' = 'required',
): typeof test {
  if (works(command)) return test;
  if (process.env.CI === 'true' && inCi === 'required') {
    test(`this machine has ${means}`, () => {
      throw new Error(`The tests of this file need ${means}; "${command.join(' ')}" does not work here.`);
    });
  }
  process.stderr.write(
    `\n!!! NOT PROVEN HERE: tests need ${means}; "${command.join(' ')}" does not work.\n\n`,
  );
  return test.skip as typeof test;
}

function works(command: readonly string[]): boolean {
  try {
    return Bun.spawnSync([...command], { stdout: 'ignore', stderr: 'ignore' }).exitCode === 0;
  } catch {
    return false;
  }
}
