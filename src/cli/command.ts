/** Shared by all commands: help with examples, errors that refer to the help, and common options. */
import { styleText } from 'node:util';
import { Command, Option } from 'commander';
import { findNearest } from '../config/misspellings.ts';
import type { Config } from '../config.ts';
import { PetStatus } from '../contract/pets.ts';
import { pageLimit } from '../contract/values.ts';
import { escapeUnprintable } from '../domain/escape-unprintable.ts';
import { createSchemaParser, parseCountOrAll, parseInt64Argument, parseTimeOrAge } from './parsers.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export type ReadConfig = () => Config;

/** A command that is not part of the service and runs until it is stopped. `main.ts` lists all tools. */
export interface StandaloneCommand {
  readonly name: string;
  /** Adds the command to the program. */
  readonly add: (program: Command, environment: Environment) => void;
}

const settingsHint =
  'Settings are read from the environment or a .env file. To list them: animal-store serve --help';

export function createProgram(version: string, isSilent: boolean): Command {
  const program = new Command('animal-store')
    .description('Run and manage the Animal Store API, a self-hosted HTTP/JSON service for a pet store.')
    .version(version)
    .exitOverride()
    .configureHelp({ styleTitle: (title) => styleText('bold', title, { validateStream: false }) })
    .configureOutput({
      outputError: (text, write) =>
        write(escapeUnprintable(text.replace(/^error: /, 'animal-store: '), '\n')),
    })
    .helpCommand(false)
    .showHelpAfterError('See "animal-store --help".')
    .addHelpText(
      'after',
      `\nExit codes: 0 success, 1 failure, 2 invalid usage or settings.\n${settingsHint}`,
    );
  return isSilent ? program.configureOutput({ writeErr: () => {} }) : program;
}

interface Description {
  readonly summary: string;
  readonly about?: string | undefined;
  readonly examples: readonly string[];
  readonly notes?: readonly string[];
  /** Whether the help text mentions the settings (default: true). False if settings have no effect on the command. */
  readonly readsSettings?: false;
}

/** Adds a command to the program or to a group. `usage` is the command's name and arguments. */
export function addCommand(
  parent: Command,
  usage: string,
  { summary, about = summary, examples, notes = [], readsSettings }: Description,
): Command {
  const command = parent.command(usage).summary(summary).description(about);
  const sections = [
    ...(notes.length === 0 ? [] : [notes.join('\n')]),
    ['Examples:', ...examples.map((example) => `  $ ${example}`)].join('\n'),
    ...(readsSettings === false ? [] : [settingsHint]),
  ];
  return command
    .showHelpAfterError(`See "${fullName(command)} --help".`)
    .addHelpText('after', sections.map((section) => `\n${section}`).join('\n'));
}

export function addListOptions(command: Command, id: (text: string) => bigint): Command {
  return command
    .option('--limit <number>', 'number of items to list, or all', parseCountOrAll, pageLimit.default)
    .option('--after <id>', 'list only items after this id', id);
}

export function addGroup(program: Command, name: string, summary: string): Command {
  const group = program.command(name).description(summary);
  group.on('command:*', ([word = '']: readonly string[]) => failUnknownCommand(word, group));
  return group
    .showHelpAfterError(`See "${fullName(group)} --help".`)
    .addHelpText('after', `\nFor details of a command: ${fullName(group)} COMMAND --help\n${settingsHint}`);
}

/** Words that other programs use for a command. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  show: ['get', 'describe', 'read', 'view', 'info'],
  list: ['ls', 'all'],
  create: ['add', 'new', 'issue'],
  remove: ['delete', 'rm', 'del', 'destroy'],
  revoke: ['delete', 'rm', 'remove', 'del', 'disable'],
  close: ['delete', 'rm', 'remove', 'del', 'disable'],
  cancel: ['delete', 'rm', 'remove', 'del'],
  lift: ['delete', 'rm', 'remove', 'del'],
  set: ['update', 'edit', 'put', 'name', 'rename'],
  update: ['edit', 'set', 'change'],
};

function failUnknownCommand(word: string, group: Command): never {
  const suggestion = similarCommand(word, group);
  const hint = suggestion === undefined ? '' : `\n(Did you mean ${suggestion}?)`;
  return group.error(`error: unknown command '${word}'${hint}`, { code: 'commander.unknownCommand' });
}

function similarCommand(word: string, group: Command): string | undefined {
  const names = group.commands.map((command) => command.name());
  return names.find((name) => synonyms[name]?.includes(word)) ?? findNearest(word, names);
}

/** Adds a `help` command for commands at all levels. Commander's `help` supports only the first level. */
export function addHelp(program: Command): void {
  addCommand(program, 'help [command...]', {
    summary: 'Show help for a command.',
    examples: ['animal-store help keys create'],
  }).action((words: readonly string[]) => {
    let found = program;
    for (const word of words) {
      const next = found.commands.find((command) => command.name() === word);
      found = next ?? failUnknownCommand(word, found);
    }
    found.help();
  });
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}

export const takesEffectNote = 'Takes effect on the next request; with several instances, within 1 s.';

export const timeFormats =
  'A time is 2026-11-22T09:30:00Z, a day (UTC) such as 2026-11-22, or a duration before now: 24h, 7d.';

export function addTimeRangeOptions(command: Command): Command {
  return command
    .option('--since <time>', 'only entries at or after this time', parseTimeOrAge)
    .option('--until <time>', 'only entries before this time', parseTimeOrAge);
}

export const jsonOption = () => new Option('--json', 'print the result, or the error, as one line of JSON');

export const statusOption = (what: string) =>
  new Option('--status <status>', what).argParser(createSchemaParser(PetStatus));

export const categoryOption = (what: string) =>
  new Option('--category <category-id>', what).argParser(parseInt64Argument);

export const formatOption = () =>
  new Option('--format <format>', 'file format (default: from the file name)').choices(['csv', 'ndjson']);
