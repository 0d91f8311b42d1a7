import { test } from 'bun:test';

/** A program that some machines lack, and the Debian package that contains it. */
interface Requirement {
  readonly name: string;
  readonly package: string;
  /** True if even CI may skip these tests, because not every system has or allows the program. */
  readonly optional?: true;
}

/**
 * Returns `test` if the command succeeds, which means that the requirement is met. Otherwise, tests are skipped with a
 * message, or fail if `CI=true`.
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
 * Reports once that tests are skipped because a requirement is missing. With `CI=true`, throws an error that names the
 * package to install.
 */
export function missing(requirement: Requirement): undefined {
  const remedy = `Debian's package ${requirement.package} has it.`;
  if (process.env.CI === 'true' && requirement.optional !== true) {
    throw new Error(
      `With CI=true tests must not be skipped, and there is no ${requirement.name} here. ${remedy}`,
    );
  }
  const line = `SKIPPED: there is no ${requirement.name} here, so the tests that need it do not run. ${remedy}`;
  // scripts/test.ts reads this line and repeats it at the end.
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
