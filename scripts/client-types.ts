/**
 * Generates the types of the TypeScript client, `client/src/contract.ts`, from the OpenAPI document: interfaces for all
 * bodies and list filters, with descriptions; a union of error codes for each status; and the error codes returned for
 * deleted resources.
 */

/** The subset of JSON Schema that the document uses. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
}

interface Response {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface Parameter {
  readonly $ref?: string;
  readonly in: string;
  readonly name: string;
  readonly description?: string;
  readonly schema: Schema;
}

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly responses: Readonly<Record<string, Response & { readonly $ref?: string }>>;
}

interface OpenapiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Response>>;
  };
}

const head = `/** The bodies and error codes of the API. Generated from contract/openapi.json by \`npm run contract\`. */

/** A 64-bit integer in a request. A \`number\` must be a safe integer. */
export type Int64 = bigint | number;
`;

/** Returns the contents of `client/src/contract.ts`. */
export function generateClientTypes(openapiText: string): string {
  const document: OpenapiDocument = JSON.parse(openapiText);
  const { schemas } = document.components;
  const bodies = Object.entries(schemas)
    .filter(([name, { type, properties }]) => name !== 'Error' && type !== 'array' && !isEmpty(properties))
    .map(([name, schema]) => declaration(name, schema));
  const int64s = [...int64Members(schemas)].sort().map((name) => `'${name}'`);
  const members = `/** Response members that are returned as \`bigint\`. */\nexport const int64Members: readonly string[] = [${int64s.join(', ')}];\n`;
  return [head, ...bodies, ...filters(document), errorCodes(document), members].join('\n');
}

/** Returns the query parameters of each operation, except those that all lists share. */
function filters({ paths }: OpenapiDocument): string[] {
  return Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ operationId, parameters }) => {
      const own = parameters.filter(
        ({ in: part, name }) => part === 'query' && name !== 'limit' && name !== 'cursor',
      );
      if (own.length === 0) return [];
      const properties = Object.fromEntries(
        own.map(({ name, description, schema }) => [
          name,
          { ...schema, ...(description && { description }) },
        ]),
      );
      const id = `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Filters`;
      return [
        `/** Filters of ${operationId}. */\nexport interface ${id} ${members({ properties }, '', true)}\n`,
      ];
    });
}

function isEmpty(properties: object | undefined): boolean {
  return properties !== undefined && Object.keys(properties).length === 0;
}

function declaration(name: string, schema: Schema): string {
  const comment = commentOf(schema, '');
  if (schema.enum !== undefined || schema.oneOf !== undefined)
    return `${comment}export type ${name} = ${typeOf(schema, '', isSent(schema))};\n`;
  return `${comment}export interface ${name} ${members(schema, '', isSent(schema))}\n`;
}

/** Whether the schema describes a request body. Responses allow additional members; request bodies do not. */
function isSent(schema: Schema): boolean {
  return schema.additionalProperties === false;
}

function members({ properties = {}, required = [] }: Schema, indent: string, sent: boolean): string {
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([name, schema]) => {
    const type = typeOf(schema, inner, sent);
    const member = required.includes(name) ? `${name}: ${type}` : `${name}?: ${type} | undefined`;
    return `${commentOf(schema, inner)}${inner}readonly ${member};\n`;
  });
  return `{\n${lines.join('')}${indent}}`;
}

function typeOf(schema: Schema, indent: string, sent: boolean): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1) ?? '';
  const { enum: values = schema.const === undefined ? undefined : [schema.const], anyOf = schema.oneOf } =
    schema;
  if (values !== undefined) return union(values);
  if (anyOf !== undefined) return anyOf.map((each) => typeOf(each, indent, sent)).join(' | ');
  if (schema.type === 'object') return members(schema, indent, sent);
  if (schema.type === 'array') return `readonly ${typeOf(schema.items ?? {}, indent, sent)}[]`;
  if (isInt64(schema)) return sent ? 'Int64' : 'bigint';
  const plain = { integer: 'number', number: 'number', string: 'string', boolean: 'boolean', null: 'null' };
  const type = plain[schema.type as keyof typeof plain];
  if (type === undefined) throw new Error(`No TypeScript type is known for ${JSON.stringify(schema)}.`);
  return type;
}

/** Whether values of this schema require a bigint. Counts do not, because they never exceed 2^53. */
function isInt64({ format, maximum }: Schema): boolean {
  return format === 'int64' && !(maximum !== undefined && maximum <= Number.MAX_SAFE_INTEGER);
}

function commentOf({ description, anyOf }: Schema, indent: string): string {
  const text = description ?? anyOf?.find((each) => each.description !== undefined)?.description;
  // Removes advice that does not apply to this client, which returns such values as bigint.
  const advice = ' A 64-bit integer: parse values above 2^53 without rounding them.';
  return text === undefined ? '' : `${indent}/** ${text.replace(advice, '')} */\n`;
}

function union(values: readonly string[]): string {
  return values.map((value) => `'${value}'`).join(' | ');
}

/**
 * Returns the names of int64 members. The client identifies them by name, so a name that is int64 in one schema must be
 * int64 in all schemas.
 */
function int64Members(schemas: Readonly<Record<string, Schema>>): Set<string> {
  const exact = new Set<string>();
  const other = new Set<string>();
  const visit = ({ properties = {}, items, anyOf = [] }: Schema): void => {
    for (const [name, schema] of Object.entries(properties)) (isInt64(schema) ? exact : other).add(name);
    for (const schema of [...Object.values(properties), ...(items ? [items] : []), ...anyOf]) visit(schema);
  };
  for (const schema of Object.values(schemas)) visit(schema);
  const ambiguous = [...exact].filter((name) => other.has(name));
  if (ambiguous.length > 0)
    throw new Error(`These members are int64 only in some schemas: ${ambiguous.join(', ')}.`);
  return exact;
}

/** Returns the error codes of all operations, grouped by status, and the error codes returned for deleted resources. */
function errorCodes({ paths, components }: OpenapiDocument): string {
  const codes = new Map<string, Set<string>>();
  const gone = new Set<string>();
  const methods = Object.values(paths).flatMap((path) => Object.entries(path));
  for (const [method, { responses }] of methods) {
    for (const [status, response] of Object.entries(responses).filter(([status]) => status >= '400')) {
      const { content } = response.$ref
        ? (components.responses[response.$ref.split('/').at(-1) ?? ''] ?? {})
        : response;
      const schema = content?.['application/json']?.schema;
      const enums = (schema?.allOf ?? []).flatMap(({ properties }) => properties?.code?.enum ?? []);
      if (enums.length === 0) throw new Error(`A response ${status} has no codes.`);
      codes.set(status, (codes.get(status) ?? new Set()).union(new Set(enums)));
      if (method === 'delete' && status === '404') for (const code of enums) gone.add(code);
    }
  }
  const lines = [...codes].sort().map(([status, of]) => `  readonly ${status}: ${union([...of].sort())};\n`);
  const list = [...gone].sort().map((code) => `'${code}'`);
  return `/** Error codes by HTTP status. New codes may be added within v1. Treat an unknown code like any other error with its status. */\nexport interface ErrorCodes {\n${lines.join('')}}

/** The 404 codes of DELETE operations. */
export const goneCodes: readonly string[] = [${list.join(', ')}];\n`;
}
