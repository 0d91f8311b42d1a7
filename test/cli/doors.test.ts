/** The command line covers the admin API, and the audit log records its changes. */

import { beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Command } from 'commander';
import { systemUserName } from '../../src/app/services.ts';
import { createProgramParser } from '../../src/cli/program.ts';
import { listOperationCommands } from '../../src/cli/resources/commands.ts';
import { resources } from '../../src/cli/resources/names.ts';
import { readConfig } from '../../src/config.ts';
import { type AdminOperationId, adminOperations, requiredRole } from '../../src/contract/admin/operations.ts';
import { isRead, type Operation } from '../../src/contract/operation.ts';
import { computeFingerprint } from '../../src/domain/key.ts';
import { listEntries } from '../../src/operations/admin/audit.ts';
import type { AuditEntry } from '../../src/tables/operators.ts';
import { sharedWorkplace } from '../support/cli.ts';
import { banIn } from '../support/limit-file.ts';
import { limitFileIn, operatorOf, root, settingsIn, start } from '../support/process.ts';
import { addDeliveries, addWebhook, failedDelivery } from '../support/webhooks.ts';

/** For each operation without a derived command, its handwritten commands, or the reason why it has none. */
const otherDoors: { readonly [Id in AdminOperationId]?: readonly string[] | string } = {
  createSession: 'Users who can open the store need no session.',
  getSession: 'Users who can open the store need no session.',
  listSessions: 'A command opens the store without a session.',
  endSession: 'A command opens the store without a session.',
  deleteSession: 'Users who can open the store need no session.',
  getAccountUsage: ['usage'],
  createKey: ['keys create'],
  rotateKey: ['keys rotate'],
  getKeyUsage: ['usage'],
  getKeyOperations: ['usage'],
  getTrafficHistory: ['usage'],
  listOperationUsage: ['usage'],
  listFailedRequests: 'They are in the memory of the serving process. LOG_REQUESTS=errors logs them.',
  createPet: ['import'],
  importPets: ['import'],
  listImports: 'The command shows the progress of its own import.',
  getImport: 'The command writes the report of its own import.',
  stopImport: 'Ctrl+C stops the command.',
  previewImport: ['import'],
  listMinutes: ['usage'],
  listTopCallers: ['usage'],
  listDeprecatedCallers: ['usage'],
  listEvents: ['events list', 'events tail'],
  getEventLog: ['status'],
  getOverview: 'It is in the memory of the serving process, and also in its metrics.',
  getSystem: ['status'],
  getLogging: 'LOG_LEVEL and LOG_REQUESTS set it at startup. Later changes are in the serving process.',
  updateLogging: 'LOG_LEVEL and LOG_REQUESTS set it at startup. Later changes are in the serving process.',
  listBackups: 'They are files: list the folder.',
  createBackup: ['backup'],
  verifyBackup: ['backup verify'],
  downloadBackup: ['backup'],
};

const derived = Object.keys(resources)
  .flatMap(listOperationCommands)
  .map(({ row, words }) => [row.operationId, words.join(' ')] as const);

const doors: readonly (readonly [AdminOperationId, string])[] = [
  ...derived,
  ...Object.entries(otherDoors).flatMap(([id, commands]) =>
    typeof commands === 'string' ? [] : commands.map((command) => [id as AdminOperationId, command] as const),
  ),
];

/** The names of all commands that have an action, including those of subcommands. */
function commandsOf(command: Command, words: readonly string[] = []): string[] {
  return command.commands.flatMap((child) => {
    const path = [...words, child.name()];
    return [path.join(' '), ...commandsOf(child, path)];
  });
}

test('every operation of the admin API has a command, or a stated reason for not having one', async () => {
  const ids = new Set<string>([...derived.map(([id]) => id), ...Object.keys(otherDoors)]);
  const without = Object.keys(adminOperations).filter((id) => !ids.has(id));
  const advice = 'Add the resource to src/cli/resources/names.ts, or the reason to otherDoors';
  expect(without, advice).toEqual([]);
  const commands = commandsOf(await createProgramParser({}));
  expect(doors.filter(([, command]) => !commands.includes(command))).toEqual([]);
});

test('every command group has a command', () => {
  const withCommands = new Set(doors.map(([, command]) => command.split(' ')[0]));
  expect(Object.keys(resources).filter((name) => !withCommands.has(name))).toEqual([]);
});

test('no operation has both a derived and a handwritten command', () => {
  expect(derived.filter(([id]) => Object.hasOwn(otherDoors, id))).toEqual([]);
});

type Change = readonly [command: string, args: readonly string[], recorded: readonly string[]];

/** Changes in execution order, each with its command, arguments and expected audit log operations. */
const writtenChanges: readonly Change[] = [
  [
    'accounts create',
    ['--name', 'Shop', '--plan', 'enterprise', '--per-minute', '1', '--per-day', '1'],
    ['createAccount'],
  ],
  ['keys create', ['--account', '1', '--name', 'till', '--scopes', 'all'], ['createKey']],
  ['bans lift', ['1'], ['beginLiftBan', 'liftBan']],
  ['accounts rename', ['1', 'Corner shop'], ['updateAccount']],
  ['accounts set-plan', ['1', 'pro'], ['updateAccount']],
  ['accounts set-note', ['1', 'Answer by Friday.'], ['updateAccount']],
  ['accounts close', ['1'], ['closeAccount']],
  ['accounts reopen', ['1'], ['reopenAccount']],
  ['keys set-scopes', ['1', 'pets:read'], ['setKeyScopes']],
  ['keys rotate', ['1'], ['rotateKey']],
  ['keys revoke', ['2'], ['revokeKey']],
  ['operators create', ['anna', '--role', 'admin'], ['createOperator']],
  ['operators rotate', ['1'], ['rotateOperator']],
  ['operators revoke', ['1'], ['revokeOperator']],
  ['import', ['pets.csv'], ['importPets', 'importPets']],
  ['pets update', ['1', '--name', 'Ozzy'], ['updatePet']],
  ['orders place', ['1'], ['placeOrder']],
  ['orders approve', ['1'], ['approveOrder']],
  ['orders deliver', ['1'], ['deliverOrder']],
  ['orders return', ['1'], ['returnOrder']],
  ['orders place', ['1'], ['placeOrder']],
  ['orders cancel', ['2'], ['cancelOrder']],
  ['pets remove', ['2'], ['deletePet']],
  ['categories set', ['3', 'Dogs'], ['putCategory']],
  ['categories remove', ['3'], ['deleteCategory']],
  ['categories set', ['1', 'Cats'], ['putCategory']],
  ['webhooks disable', ['1', '--reason', 'Overloaded.'], ['disableWebhookByOperator']],
  ['webhooks enable', ['1'], ['enableWebhookByOperator']],
  ['webhooks test', ['1'], ['testAccountWebhook']],
  ['webhooks redeliver', ['1', '--after', '0'], ['redeliverAccountEvents']],
  ['webhooks redeliver-delivery', ['1', '1'], ['redeliverAccountDelivery']],
  ['backup', ['store.backup'], ['createBackup']],
];

const place = await sharedWorkplace();

/** The arguments of the first example in a command's help. */
async function firstExample(command: string): Promise<string[]> {
  const { stdout } = await place.run([...command.split(' '), '--help']);
  const example = stdout.split(`$ animal-store ${command} `)[1]?.split('\n')[0] ?? '';
  return Array.from(example.matchAll(/"([^"]*)"|\S+/g), ([word, quoted]) => quoted ?? word);
}

const isChange = (operation: Operation) => !isRead(operation) && requiredRole(operation) === 'admin';

/** The other commands that make changes, each run like the first example in its help. */
const otherChanges = await Promise.all(
  derived
    .filter(
      ([id, command]) => isChange(adminOperations[id]) && !writtenChanges.some(([one]) => one === command),
    )
    .map(async ([id, command]): Promise<Change> => [command, await firstExample(command), [id]]),
);

const changes = [...writtenChanges, ...otherChanges];
/** The result of each change, with its audit log entries. */
const done: { readonly command: string; readonly answer: unknown; readonly entries: AuditEntry[] }[] = [];

/** The output of a change. */
async function outputOf([command, args]: Change): Promise<unknown> {
  const words = [...command.split(' '), ...args];
  if (command === 'webhooks test') return blocked(words);
  return place.json(...words).catch((error: Error) => {
    if (writtenChanges.some(([one]) => one === command)) throw error;
    throw new Error(`Add "${command}" to writtenChanges, where its object still exists: ${error.message}`);
  });
}

/** Adds a webhook whose URL is not allowed, and a failed delivery to it. */
async function addBlockedWebhook(): Promise<void> {
  const { databaseUrl } = readConfig(settingsIn(place.folder));
  await addWebhook(databaseUrl, { accountId: 1, url: 'https://127.0.0.1/' });
  await addDeliveries(databaseUrl, [failedDelivery(1n, 1n, Date.now())]);
}

/** The output of a command that fails because the webhook's URL is not allowed. */
async function blocked(words: readonly string[]): Promise<unknown> {
  const { exitCode, stdout } = await place.run([...words, '--json']);
  expect(exitCode).toBe(1);
  return JSON.parse(stdout);
}

beforeAll(async () => {
  await place.write('pets.csv', 'name,categoryId,status\nA,1,available\nB,1,available\n');
  await using operator = await operatorOf(place.folder);
  let last = 0n;
  for (const change of changes) {
    const [command] = change;
    if (command === 'bans lift') banIn(limitFileIn(place.folder), 1, Math.floor(Date.now() / 1_000) + 3_600);
    if (command === 'webhooks disable') await addBlockedWebhook();
    const answer = await outputOf(change);
    const all = await listEntries(operator.store, undefined, 100, {});
    const entries = all.filter(({ id }) => id > last).reverse();
    last = entries.at(-1)?.id ?? last;
    done.push({ command, answer, entries });
  }
});

test('this file tests every command that makes changes', () => {
  const expected = doors.flatMap(([id, command]) => (isChange(adminOperations[id]) ? [command] : []));
  const tried = new Set<string>(changes.map(([command]) => command));
  expect([...tried].sort()).toEqual([...new Set(expected)].sort());
});

test.each(changes.map(([command, , recorded], index) => [command, recorded, index] as const))(
  '%s is recorded in the audit log with the user who runs it',
  (_command, recorded, index) => {
    const { entries } = done[index] ?? { entries: [] };
    expect(entries.map(({ operation }) => operation)).toEqual([...recorded]);
    for (const { actor, operation, before, after } of entries) {
      expect(actor).toBe(`cli:${systemUserName()}`);
      if (operation !== 'beginLiftBan') expect(before).not.toBe(after);
    }
  },
);

/** The other commands with the first example in their help, except one that writes a file. */
const readings = derived.filter(
  ([id, command]) =>
    isRead(adminOperations[id]) && command !== 'audit export' && !changes.some(([one]) => one === command),
);

test.each(readings.map(([, command]) => command))('%s prints text and JSON', async (command) => {
  const example = command === 'bans status' ? ['1'] : await firstExample(command);
  for (const form of [[], ['--json']]) {
    const words = [...command.split(' '), ...example.filter((word) => word !== '--json'), ...form];
    const { exitCode, stdout, stderr } = await place.run(words);
    expect([words, exitCode, stdout === '' && stderr]).toEqual([words, 0, false]);
  }
});

test('the audit log contains no keys, no tokens, and no fingerprints of either', async () => {
  const secrets = done
    .map(({ answer }) => answer as { readonly key?: string; readonly token?: string })
    .flatMap(({ key, token }) => [key, token])
    .filter((secret) => secret !== undefined);
  expect(secrets.length).toBe(4);
  const { stdout } = await place.run(['audit', 'export', '-']);
  expect(stdout.split('\n').length).toBeGreaterThan(changes.length);
  for (const secret of secrets) {
    expect(stdout).not.toContain(secret);
    expect(stdout).not.toContain(computeFingerprint(secret));
  }
});

const failing = [
  'accounts rename 99 Nobody',
  'keys revoke 99',
  'bans lift 1',
  'pets remove 99',
  'orders approve 2',
  'operators rotate 1',
];
const idle = [
  ...['accounts list', 'limits show 1', 'orders show 1', 'usage', 'status', 'keys list'],
  ...[
    'accounts reopen 1',
    'keys revoke 2',
    'operators revoke 1',
    'pets update 1 --name Ozzy',
    'import pets.csv',
  ],
];

test('commands that fail or change nothing write no audit entries, and do not keep their process running', async () => {
  await using operator = await operatorOf(place.folder);
  const before = await listEntries(operator.store, undefined, 1, {});
  const words = [...failing, ...idle].map((command) => command.split(' '));
  const program = `import { run } from ${JSON.stringify(join(root, 'src/cli/cli.ts'))};
    for (const words of ${JSON.stringify(words)}) console.error(await run(words, process.env));`;
  const command = [process.execPath, '--eval', program];
  await using child = start(command, { environment: settingsIn(place.folder), cwd: place.folder });
  expect(await child.exited).toBe(0);
  const exitCodes = Array.from(child.stderr().matchAll(/^\d$/gm), String);
  expect(exitCodes).toEqual([...failing.map(() => '1'), ...idle.map(() => '0')]);
  expect(await listEntries(operator.store, undefined, 1, {})).toEqual(before);
});
