/** Options and arguments derived from the schemas of an operation: names, descriptions, examples, and parsers. */
import { type Command, Option } from 'commander';
import * as z from 'zod';
import type { AdminOperationId } from '../../contract/admin/operations.ts';
import type { Operation } from '../../contract/operation.ts';
import { int64Hint, listHint, textHint } from '../../contract/values.ts';
import {
  parseBoolean,
  parseInt64Argument,
  parseNonOption,
  parsePositiveInteger,
  parseScopeList,
  parseTimeOrAge,
  parseWithSchema,
} from '../parsers.ts';

export type AdminOperation = Operation & { readonly operationId: AdminOperationId };

export interface InputField {
  readonly part: 'params' | 'query' | 'body';
  readonly name: string;
  readonly schema: z.ZodType;
  readonly isRequired: boolean;
  readonly word: string;
  /** Placeholder shown in the help for the argument or the option's value. */
  readonly placeholder: string;
  readonly description: string;
  readonly example: string | undefined;
  readonly isTime: boolean;
  /** Parses text into the value that the operation expects. Throws `InvalidArgumentError`. */
  readonly read: (text: string) => unknown;
}

/** Returns the members of an operation's input that a command can set, except the limit and cursor of a list. */
export function inputFields({ params = {}, query, body, scope }: Operation): InputField[] {
  // Ids in the public API may be any int64. Ids of accounts, keys and operators are assigned by the store and are
  // positive.
  const isPositive = scope === undefined;
  const membersIn = (part: InputField['part'], shape: Readonly<Record<string, unknown>>) =>
    Object.entries(shape).map(([name, schema]) => inputField(part, name, schema as z.ZodType, isPositive));
  const parameters = Object.fromEntries(Object.entries(params).map(([name, { schema }]) => [name, schema]));
  const { limit: _limit, cursor: _cursor, ...filters } = query?.shape ?? {};
  return [
    ...membersIn('params', parameters),
    ...membersIn('query', filters),
    ...membersIn('body', body?.schema.shape ?? {}),
  ];
}

interface Meta {
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly override?: {
    readonly type?: string;
    readonly format?: string;
    readonly minimum?: number;
    readonly examples?: readonly unknown[];
  };
  readonly param?: { readonly examples?: { readonly default: { readonly value: unknown } } };
}

export function schemaMeta(schema: z.ZodType): Meta {
  const wrapped = unwrapOnce(schema);
  return { ...(wrapped && schemaMeta(wrapped)), ...(schema.meta() as Meta | undefined) };
}

function unwrapOnce(schema: z.ZodType): z.ZodType | undefined {
  const wraps =
    schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable;
  return wraps ? (schema.unwrap() as z.ZodType) : undefined;
}

function unwrap(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodPreprocess) return unwrap(schema.out as z.ZodType);
  const wrapped = unwrapOnce(schema);
  return wrapped === undefined ? schema : unwrap(wrapped);
}

function inputField(
  part: InputField['part'],
  name: string,
  schema: z.ZodType,
  isPositive: boolean,
): InputField {
  const { description = '', examples, override, param } = schemaMeta(schema);
  const inner = unwrap(schema);
  const isTime = override?.format === 'date-time';
  const isInteger = override?.type === 'integer';
  const toJson = (text: string): unknown => {
    if (isTime) return new Date(parseTimeOrAge(text)).toISOString();
    if (isInteger) {
      // A number in a body has a `minimum` if 0 is not allowed.
      const mayBeZero = override.minimum === 0 || (part === 'body' && override.minimum === undefined);
      const value = isPositive && !mayBeZero ? BigInt(parsePositiveInteger(text)) : parseInt64Argument(text);
      return part === 'query' ? String(value) : value;
    }
    if (inner instanceof z.ZodArray) return parseScopeList(text);
    if (inner instanceof z.ZodBoolean) return parseBoolean(text);
    return parseNonOption(text);
  };
  const example =
    param?.examples?.default.value ??
    examples?.[0] ??
    override?.examples?.[0] ??
    (inner instanceof z.ZodEnum ? inner.options[0] : undefined);
  return {
    part,
    name,
    schema,
    isRequired: unwrapOnce(schema) === undefined,
    word: kebabCase(name.replace(/Id$/, '')),
    placeholder: optionPlaceholder(part, name, override),
    description: describe(description, inner),
    example: example === undefined ? undefined : String(example),
    isTime,
    read: (text) => parseWithSchema(schema, toJson(text)),
  };
}

function optionPlaceholder(part: InputField['part'], name: string, override: Meta['override']): string {
  if (override?.format === 'date-time') return 'time';
  if (override?.type === 'array') return `${name}s`;
  if (override?.type !== 'integer') return kebabCase(name);
  return part === 'body' && !/Id$/.test(name) ? 'number' : `${kebabCase(name.replace(/Id$/, ''))}-id`;
}

function describe(description: string, schema: z.ZodType): string {
  const text = [int64Hint, listHint, textHint]
    .reduce((left, hint) => left.replace(hint, ''), description)
    .replace(/^(?:Return|Count) /, '')
    .replaceAll('`', '')
    .split(/\. ?/)
    .filter((sentence) => sentence !== '')
    .map((sentence) =>
      sentence.replace(/^ID\b/, 'id').replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase()),
    )
    .join('; ');
  if (schema instanceof z.ZodArray) return `${text}: separated by commas, or all`;
  return schema instanceof z.ZodEnum ? `${text} (${schema.options.join(', ')})` : text;
}

/** Converts `categoryId` to `category-id`. */
function kebabCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export function itemSchema(schema: z.ZodType | undefined): z.ZodObject {
  return (schema instanceof z.ZodArray ? schema.element : schema) as z.ZodObject;
}

export function returnsList({ success: { schema } }: Operation): boolean {
  return itemSchema(schema) !== schema;
}

export function addOptions(command: Command, members: readonly InputField[]): void {
  for (const { word, placeholder, description, read, isRequired } of members) {
    const option = new Option(`--${word} <${placeholder}>`, description).argParser(read);
    command.addOption(option.makeOptionMandatory(isRequired));
  }
}

export function collectValues(options: Readonly<Record<string, unknown>>, members: readonly InputField[]) {
  // Commander stores `per-day` as `perDay`.
  const key = (word: string) => word.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(
    members.map(({ name, word, part, schema }) => {
      const given = options[key(word)];
      // As in a request, a missing member of a body has its default.
      return [name, given === undefined && part === 'body' ? schema.safeParse(undefined).data : given];
    }),
  );
}
