import { test } from 'bun:test';

/** A requirement that a machine may lack, and its Debian package. */
export interface Requirement {
  readonly name: string;
  readonly package: string;
  /** CI may lack it, because some systems do not allow it. */
  readonly optional?: true;
}

/**
 * Tests with a requirement of the machine, detected by running a command. If it is missing, the tests are skipped and a
 * line reports it. With `CI=true` they fail, so that CI runs every test.
 */
export function testWith(requirement: Requirement, command: readonly string[]): typeof test {
  if (works(command)) return test;
  try {
    missing(requirement);
  } catch (error) {
    test(`this machine has ${requirement.name}`, () => {
      throw error;
    });
  }
  return test.skip as typeof test;
}

const reported = new Set<string>();

/**
 * Reports once that tests are skipped because a requirement is missing. In CI, throws with the name of the package to install.
 */
export function missing(requirement: Requirement): undefined {
  const remedy = `Debian's package ${requirement.package} has it.`;
  if (process.env.CI === 'true' && requirement.optional !== true) {
    throw new Error(
      `With CI=true tests must not be skipped, and there is no ${requirement.name} here. ${remedy}`,
    );
  }
  const line = `SKIPPED: there is no ${requirement.name} here, so the tests that need it do not run. ${remedy}`;
  // Read by scripts/test.ts, which repeats it at the end.
  if (!reported.has(line)) process.stderr.write(`\n${line}\n`);
  reported.add(line);
  return undefined;
}

function works(command: readonly string[]): boolean {
  try {
    return Bun.spawnSync([...command], { stdout: 'ignore', stderr: 'ignore' }).exitCode === 0;
  } catch {
    return false;
  }
}
