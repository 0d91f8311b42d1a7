/** Resource commands, derived from the operations of the admin API. */
import { Argument, type Command } from 'commander';
import { allAdminOperations } from '../../contract/admin/operations.ts';
import { isRead, type Operation } from '../../contract/operation.ts';
import {
  addCommand,
  addGroup,
  addListOptions,
  jsonOption,
  type ReadConfig,
  timeFormats,
} from '../command.ts';
import { parseAssignedId, parseInt64Argument, parseName } from '../parsers.ts';
import { CommandError } from '../terminal.ts';
import { type CommandOverrides, commandOverridesFor } from './command-overrides.ts';
import { addEventCommands } from './events.ts';
import {
  type AdminOperation,
  addOptions,
  collectValues,
  type InputField,
  inputFields,
  itemSchema,
  returnsList,
  schemaMeta,
} from './input-fields.ts';
import { addCreateKey, addRotateKey } from './keys.ts';

interface OperationCommand {
  readonly words: readonly [resource: string, verb?: string];
  readonly row: AdminOperation;
  readonly facts: CommandOverrides;
}

/**
 * Adds a resource's command group. The group contains only the called command, or all commands if there is no such
 * command. A resource without ids gets a single command instead of a group.
 */
export function addResource(
  program: Command,
  name: string,
  summary: string,
  config: ReadConfig,
  called: string | undefined,
): void {
  const commands = listOperationCommands(name);
  const single = commands.find(({ words }) => words.length === 1);
  if (single !== undefined) {
    addOperationCommand(program, name, single, config);
    return;
  }
  const group = addGroup(program, name, summary);
  const chosen = commands.filter(({ words }) => words[1] === called);
  for (const command of chosen.length > 0 ? chosen : commands) {
    addOperationCommand(group, command.words[1] ?? '', command, config);
  }
  if (name === 'keys') {
    addCreateKey(group, config);
    addRotateKey(group, config);
  }
  if (name === 'events') addEventCommands(group, config);
}

export function listOperationCommands(resource: string): OperationCommand[] {
  return allAdminOperations
    .filter((row) => row.upload === undefined)
    .flatMap((row) =>
      commandOverridesFor(row.operationId).flatMap((facts): OperationCommand[] => {
        if ((facts.resource ?? commandResource(row)) !== resource) return [];
        const isSingle = isRead(row) && row.params === undefined && !returnsList(row) && !row.success.lines;
        const words = isSingle
          ? ([resource] as const)
          : ([resource, facts.verb ?? commandVerb(row)] as const);
        return [{ words, row, facts }];
      }),
    );
}

const verbs: Readonly<Record<string, string>> = { get: 'show', put: 'set', delete: 'remove' };

/** `approve` for `approveOrder`. */
function commandVerb({ operationId }: Operation): string {
  const verb = firstWord(operationId);
  return verbs[verb] ?? verb;
}

/** `orders` for `approveOrder` at `/orders/{orderId}/approve`. */
function commandResource({ operationId, path }: Operation): string | undefined {
  const names = path.split('/').filter((part) => part !== '' && !part.startsWith('{'));
  return names.filter((name) => name !== firstWord(operationId)).at(-1);
}

const firstWord = (operationId: string) => /^[a-z]+/.exec(operationId)?.[0] ?? operationId;

export function commandFields({ row, facts: { only, byName } }: OperationCommand): InputField[] {
  const members = inputFields(row).filter(
    ({ part, name }) => part !== 'body' || (only?.includes(name) ?? true),
  );
  if (byName === undefined) return members;
  return members.map((member) =>
    member.part === 'params'
      ? { ...member, placeholder: byName, description: `name or id of the ${byName}`, read: parseName }
      : member,
  );
}

function addOperationCommand(
  parent: Command,
  name: string,
  rowCommand: OperationCommand,
  config: ReadConfig,
): void {
  const { row, facts } = rowCommand;
  const members = commandFields(rowCommand);
  const isArgument = (member: InputField) =>
    member.part === 'params' || (facts.positional?.includes(member.name) ?? false);
  const args = members.filter(isArgument);
  const options = members.filter((member) => !isArgument(member));
  const command = addCommand(parent, name, {
    summary: facts.about ?? `${row.summary.replace(/^Get\b/, 'Show')}.`,
    about: facts.about ?? (isRead(row) ? undefined : row.description.replaceAll('`', '')),
    examples: (facts.examples ?? buildExamples(row, args, options)).map((given) =>
      `animal-store ${parent.parent === null ? '' : `${parent.name()} `}${name} ${given}`.trimEnd(),
    ),
    notes: [
      ...(facts.notes ?? []),
      ...(options.some(({ isTime }) => isTime) ? [timeFormats] : []),
      ...(isRead(row) || row.scope === undefined ? [] : ['The service can keep running.']),
    ],
  });
  const isFile = row.success.lines === true;
  if (isFile) {
    command.argument('<file>', 'FILE.ndjson, or - for standard output');
    command.option('--force', 'replace the file if it exists');
  }
  for (const { placeholder, description, read } of args) {
    command.addArgument(new Argument(`<${placeholder}>`, description).argParser(read));
  }
  addOptions(command, options);
  if (row.paginated && !facts.isWhole)
    addListOptions(command, hasAssignedIds(row) ? parseAssignedId : parseInt64Argument);
  command.addOption(jsonOption()).action(async (...words) => {
    const given = isFile ? words.slice(1) : words;
    const optionValues = command.opts();
    const values = {
      ...collectValues(optionValues, options),
      ...Object.fromEntries(args.map((member, index) => [member.name, given[index]])),
    };
    if (row.method === 'PATCH') checkChange(members, values);
    const of = (part: InputField['part']) =>
      Object.fromEntries(
        members.flatMap((member) => (member.part === part ? [[member.name, values[member.name]]] : [])),
      );
    const input = { params: of('params'), query: of('query'), body: of('body') };
    const { runOperation } = await import('./run-operation.ts');
    await runOperation(config(), row, input, {
      ...facts,
      ...optionValues,
      ...(isFile && { file: words[0] }),
    });
  });
}

/** Throws `CommandError` if the command would change nothing. */
function checkChange(members: readonly InputField[], values: Readonly<Record<string, unknown>>): void {
  const settable = members.filter(({ part }) => part === 'body');
  if (settable.some(({ name }) => values[name] !== undefined)) return;
  const flags = settable.map(({ word }) => `--${word}`).join(', ');
  throw new CommandError(`Nothing to change: specify ${flags.replace(/, (?=[^,]*$)/, ' or ')}.`, 2);
}

function hasAssignedIds({ success }: Operation): boolean {
  const { id } = itemSchema(success.schema).shape;
  return id !== undefined && schemaMeta(id).override?.minimum !== undefined;
}

/** Returns the arguments of the examples: required arguments first, then up to two options and `--json`. */
function buildExamples(
  row: Operation,
  args: readonly InputField[],
  options: readonly InputField[],
): string[] {
  const given = (members: readonly InputField[]) =>
    members.flatMap(({ word, example }) =>
      example === undefined ? [] : [`--${word} ${quoteArgument(example)}`],
    );
  const required = options.filter(({ isRequired }) => isRequired);
  const rest = given(options.filter(({ isRequired }) => !isRequired)).slice(0, 2);
  const short = [...args.map(({ example = '1' }) => quoteArgument(example)), ...given(required)].join(' ');
  const long = [short, ...rest, ...(isRead(row) ? ['--json'] : [])].filter(Boolean).join(' ');
  return row.method === 'PATCH' ? [long] : [...new Set([short, long])];
}

const quoteArgument = (word: string) => (/^[\w:.,-]+$/.test(word) ? word : `"${word}"`);
