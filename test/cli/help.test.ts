import { describe, expect, test } from 'bun:test';
import type { Command } from 'commander';
import document from '../../contract/openapi.json' with { type: 'json' };
import packageJson from '../../package.json' with { type: 'json' };
import { sandboxTool } from '../../sandbox/command.ts';
import { createProgramParser } from '../../src/cli/program.ts';
import { settings } from '../../src/config/settings.ts';
import { newWorkplace, sharedWorkplace } from '../support/cli.ts';

const place = await sharedWorkplace({ store: false });

/** All commands, each with its full name as words. */
function commandsOf(
  command: Command,
  words: readonly string[] = [],
): { command: Command; words: readonly string[] }[] {
  return command.commands.flatMap((child) => {
    const path = [...words, child.name()];
    return [{ command: child, words: path }, ...commandsOf(child, path)];
  });
}

const commands = commandsOf(await createProgramParser({}, { tools: [sandboxTool] }));
/** True if the command only groups subcommands. */
const isGroup = ({ commands: below, registeredArguments }: Command) =>
  below.length > 0 && registeredArguments.length === 0;
const leaves = commands.filter(({ command }) => !isGroup(command));

describe.each(leaves.map((leaf) => [leaf.words.join(' '), leaf] as const))(
  '%s --help',
  (name, { command, words }) => {
    test('shows every option with a description, examples of the command, and a reference to the settings', async () => {
      const { exitCode, stdout, stderr } = await place.run([...words, '--help']);
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      expect(stdout).toStartWith(`Usage: animal-store ${name}`);
      for (const option of command.options) {
        expect(stdout).toContain(option.flags);
        expect(option.description).not.toBe('');
      }
      expect(stdout).toContain(
        name === 'sandbox'
          ? 'ignores DATABASE_URL and all other settings'
          : 'Settings are read from the environment',
      );
      const examples = [...stdout.matchAll(/^ {2}\$ (.*)$/gm)].map(([, example = '']) => example);
      expect(examples.length).toBeGreaterThan(0);
      for (const example of examples) expect(example).toContain(`animal-store ${name}`);
      expect(stdout).not.toContain('\x1b');
      for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
    });
  },
);

test.each(commands.filter(({ command }) => isGroup(command)).map(({ words }) => [words.join(' '), words]))(
  '%s without a subcommand shows its help and is a usage error',
  async (_name, words) => {
    const { exitCode, stdout, stderr } = await place.run(words as string[]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('Commands:');
  },
);

test('--help and --version succeed, and a missing or unknown command is a usage error', async () => {
  const help = await place.run(['--help']);
  expect(help).toMatchObject({ exitCode: 0, stderr: '' });
  for (const { words } of commands.filter(({ words: path }) => path.length === 1)) {
    expect(help.stdout).toMatch(new RegExp(`^ {2}${words[0]}\\b`, 'm'));
  }
  expect(await place.run(['--version'])).toMatchObject({ exitCode: 0, stdout: `${packageJson.version}\n` });
  expect(await place.run([])).toMatchObject({ exitCode: 2, stdout: '' });
  expect(await place.failure(2, 'sevre')).toBe(
    'animal-store: unknown command \'sevre\'\n(Did you mean serve?)\nSee "animal-store --help".\n',
  );
});

test('help accepts a command at any depth', async () => {
  for (const words of [['keys'], ['keys', 'create'], ['backup', 'verify']]) {
    expect(await place.run(['help', ...words])).toEqual(await place.run([...words, '--help']));
  }
  expect(await place.failure(2, 'help', 'keys', 'craete')).toBe(
    'animal-store: unknown command \'craete\'\n(Did you mean create?)\nSee "animal-store keys --help".\n',
  );
});

test.each([
  ['pets', 'delete', 'remove'],
  ['pets', 'get', 'show'],
  ['pets', 'edit', 'update'],
  ['keys', 'delete', 'revoke'],
  ['keys', 'add', 'create'],
  ['accounts', 'rm', 'close'],
  ['orders', 'delete', 'cancel'],
  ['orders', 'lst', 'list'],
])('%s %s suggests the command %s', async (group, word, meant) => {
  expect(await place.failure(2, group, word, '1')).toContain(
    `unknown command '${word}'\n(Did you mean ${meant}?)`,
  );
});

test('with --json, an error is printed as one line of JSON to standard error, and the exit code stays the same', async () => {
  await using other = await newWorkplace();
  for (const [args, exitCode, message] of [
    [['keys', 'list', '--bogus'], 2, "unknown option '--bogus'"],
    [['keys', 'craete'], 2, "unknown command 'craete'"],
    [['accounts', 'create', '--name', 'A', '--plan', 'gold'], 2, 'It must be one of "free", "pro"'],
    [['import', 'nowhere.csv'], 1, 'File not found: nowhere.csv'],
  ] as const) {
    const run = await other.run([...args, '--json']);
    expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({ exitCode, stdout: '' });
    expect(run.stderr).toMatch(/^[^\n]+\n$/);
    expect(JSON.parse(run.stderr)).toEqual({ error: { message: expect.stringContaining(message) } });
  }
});

test('copy reads the database URLs from the environment, and its error messages contain no password', async () => {
  const secret = 'postgres+ssl://u:Sesame@h/d';
  const given = { environment: { FROM_DATABASE_URL: secret, TO_DATABASE_URL: secret } };
  const runs = await Promise.all([
    place.run(['copy'], given),
    place.run(['copy', '--from', 'sqlite:a.db'], given),
    place.run(['copy', '--from', secret, '--to', secret]),
    place.run(['copy']),
  ]);
  const named = [
    'FROM_DATABASE_URL must be',
    'TO_DATABASE_URL must be',
    '--from must be',
    '--from URL or the environment variable FROM_',
  ];
  for (const [index, run] of runs.entries()) {
    expect(run).toMatchObject({ exitCode: 2, stdout: '' });
    expect(run.stderr).toContain(named[index] ?? '');
    expect(run.stderr).not.toContain('Sesame');
  }
});

test('a command with invalid settings lists all errors, exits with code 2 and creates no store', async () => {
  const environment = { PORT: 'many', DATABASE_URL: 'mysql://x' };
  for (const args of [['serve'], ['keys', 'list'], ['openapi']]) {
    const { exitCode, stdout, stderr } = await place.run(args, { environment });
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(/PORT .*\n.*DATABASE_URL /);
  }
  expect(await place.files()).toEqual([]);
});

test('serve --help lists every setting with its default and meaning', async () => {
  const said = await place.output('serve', '--help');
  for (const [name, { default: value, about }] of Object.entries(settings)) {
    expect(said).toContain(`  ${name}=${value}\n      ${about}\n`);
  }
});

test('openapi prints the published document with the configured server URL', async () => {
  const environment = { PUBLIC_URL: 'https://animals.example.com' };
  const { exitCode, stdout, stderr } = await place.run(['openapi'], { environment });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const { servers, ...printed } = JSON.parse(stdout) as typeof document & { servers: { url: string }[] };
  const { servers: _promised, ...promised } = document as typeof printed & { servers: unknown };
  expect(printed).toEqual(promised as typeof printed);
  expect(servers[0]?.url).toBe('https://animals.example.com/v1');
});
