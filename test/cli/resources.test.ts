/** Commands derived from the operations of the admin API. */
import { describe, expect, test } from 'bun:test';
import type { Command } from 'commander';
import { createProgramParser } from '../../src/cli/program.ts';
import { commandFields, listOperationCommands } from '../../src/cli/resources/commands.ts';
import { inputFields, returnsList } from '../../src/cli/resources/input-fields.ts';
import { resources } from '../../src/cli/resources/names.ts';
import { describeRemoval } from '../../src/cli/resources/result-messages.ts';
import { operations } from '../../src/contract/operations.ts';
import { sharedWorkplace } from '../support/cli.ts';

const place = await sharedWorkplace();
const commands = Object.keys(resources).flatMap(listOperationCommands);

const memberOf = (command: string, name: string) => {
  const found = commands.find(({ words }) => words.join(' ') === command);
  const member = found && commandFields(found).find((one) => one.name === name);
  if (member === undefined) throw new Error(`${command} has no ${name}`);
  return member;
};

test('the name of a command is derived from the path and the first word of the operationId', () => {
  const names = Object.fromEntries(commands.map(({ row, words }) => [row.operationId, words.join(' ')]));
  expect(names).toMatchObject({
    listPets: 'pets list',
    getPet: 'pets show',
    deletePet: 'pets remove',
    putCategory: 'categories set',
    approveOrder: 'orders approve',
    getAccountLimits: 'limits show',
    getInventory: 'inventory',
  });
});

test('every filter of a list is an option', () => {
  const lists = commands.filter(({ row }) => returnsList(row));
  expect(lists.length).toBeGreaterThan(5);
  for (const list of lists) {
    const { row } = list;
    const filters = Object.keys(row.query?.shape ?? {}).filter((name) => !['limit', 'cursor'].includes(name));
    expect(
      commandFields(list)
        .filter(({ part }) => part === 'query')
        .map(({ name }) => name),
    ).toEqual(filters);
  }
});

test.each([
  ['pets update', 'categoryId', '--category <category-id>'],
  ['audit list', 'account', '--account <account-id>'],
  ['audit list', 'since', '--since <time>'],
  ['accounts create', 'perMinute', '--per-minute <number>'],
  ['pets list', 'id', '--id <ids>'],
])('the command %s accepts the field %s as the option %s', (command, name, flags) => {
  const { word, placeholder } = memberOf(command, name);
  expect(`--${word} <${placeholder}>`).toBe(flags);
});

test('option descriptions come from the schemas, but omit the rules that error messages explain', () => {
  expect(memberOf('orders list', 'petId').description).toBe('only orders for this animal');
  expect(memberOf('orders place', 'petId').description).toBe('id of the ordered animal');
  expect(memberOf('accounts create', 'name').description).toBe('name of the account');
  expect(memberOf('operators create', 'role').description).toBe(
    'a viewer has read-only access; an admin can also make changes (viewer, admin)',
  );
});

describe('options and arguments are parsed according to their schemas', () => {
  test.each([
    ['pets list', 'categoryId', '-9223372036854775808', -(2n ** 63n)],
    ['pets show', 'petId', '9223372036854775807', 2n ** 63n - 1n],
    ['pets list', 'id', '3,1,3', [3n, 1n]],
    ['accounts show', 'accountId', '7', 7n],
    ['keys list', 'accountId', '7', 7n],
    ['accounts create', 'perDay', '500', 500],
    ['audit list', 'since', '2026-11-22', Date.parse('2026-11-22T00:00:00Z')],
    ['keys set-scopes', 'scopes', 'pets:write,pets:read', ['pets:read', 'pets:write']],
    ['categories set', 'name', ' Good dogs', ' Good dogs'],
  ] as const)('%s parses %s %p', (command, name, text, value) => {
    expect(memberOf(command, name).read(text)).toEqual(value as never);
  });

  test.each([
    ['pets list', 'status', 'gone', 'It must be one of "available", "pending", "sold".'],
    ['accounts create', 'plan', 'gold', 'It must be one of "free", "pro", "business", "enterprise".'],
    ['pets show', 'petId', '9223372036854775808', '-9223372036854775808 to 9223372036854775807'],
    ['accounts show', 'accountId', '0', 'It must be a positive whole number.'],
    ['accounts show', 'accountId', 'one', 'It must be a positive whole number.'],
    ['accounts create', 'perDay', '0', 'It must be a positive whole number.'],
    ['accounts create', 'perDay', '1000000000001', 'It must be from 1 to 1000000000000.'],
    ['pets list', 'id', '1,,2', 'It must be 1 to 100 ids, separated by commas.'],
    ['audit list', 'since', '2026-02-31', 'It must be a time such as'],
    ['categories set', 'name', ' ', 'It must not be blank.'],
    ['accounts rename', 'name', 'a\x1b[1m', 'It must not contain control characters'],
    ['operators create', 'name', 'x'.repeat(256), 'It must have at most 255 characters.'],
    ['operators create', 'name', '--json', 'The value is missing'],
    ['operators rotate', 'operatorId', '', 'It must not be empty.'],
    ['keys set-scopes', 'scopes', 'all,pets:read', 'Scopes: pets:read, pets:create,'],
  ])('%s rejects %s %p', (command, name, text, message) => {
    expect(() => memberOf(command, name).read(text)).toThrow(message);
  });
});

test('the message about the removal of a child names the id of the child, not of its parent', () => {
  expect(describeRemoval({ petId: 2n, medicalNoteId: 10_002n })).toEqual({
    text: 'Removed medical note 10002.',
    json: '{"id":10002,"removed":true}',
  });
});

test('a boolean in a body is an option that accepts true and false', () => {
  const enabled = inputFields(operations.updateWebhook).find(({ name }) => name === 'enabled');
  expect(['true', 'false'].map((text) => enabled?.read(text))).toEqual([true, false]);
  expect(() => enabled?.read('yes')).toThrow('It must be true or false.');
});

test('a command without a required option or argument is a usage error', async () => {
  for (const args of [
    ['accounts', 'create', '--name', 'N'],
    ['accounts', 'set-plan', '1'],
    ['operators', 'create', 'anna'],
  ]) {
    expect(await place.failure(2, ...args)).toMatch(
      /required option '--\w+ <\w+>' not|missing required argument/,
    );
  }
});

test('the error for an update without changes lists the options that can be set', async () => {
  expect(await place.failure(2, 'pets', 'update', '1')).toBe(
    'animal-store: Nothing to change: specify --name, --category or --status.\n',
  );
});

test('the examples in the help of every command can be parsed', async () => {
  const program = await createProgramParser({});
  let understood = 0;
  const quiet = (command: Command): void => {
    if (command.registeredArguments.length > 0 || command.commands.length === 0) {
      command.action(() => {
        understood += 1;
      });
    }
    for (const below of command.commands) quiet(below);
  };
  quiet(program);
  const examples = commands.flatMap(({ words }) => {
    const command = words.reduce(
      (found, word) => found.commands.find((one) => one.name() === word) ?? found,
      program,
    );
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    return [...help.matchAll(/^ {2}\$ animal-store (.*?)(?: \|.*)?$/gm)].map(([, example = '']) => example);
  });
  for (const example of examples) {
    const words = [...example.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
    await program.parseAsync(words, { from: 'user' });
  }
  expect(understood).toBe(examples.length);
  expect(examples.length).toBeGreaterThan(commands.length);
});

test('a command loads only the subcommands of its resource', async () => {
  const program = await createProgramParser({}, { words: ['pets'] });
  const below = (name: string) => program.commands.find((one) => one.name() === name)?.commands.length;
  expect(below('pets')).toBeGreaterThan(0);
  expect(below('orders')).toBe(0);
});
