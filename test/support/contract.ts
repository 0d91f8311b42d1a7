import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import document from '../../contract/openapi.json' with { type: 'json' };

interface Declared {
  readonly $ref?: string;
  readonly required?: boolean;
  readonly schema?: object;
}

interface DeclaredResponse {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, Declared>>;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface DeclaredOperation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, DeclaredResponse>>;
}

/** What is checked of a response. */
export interface Checkable {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const paths = (document as { paths?: Record<string, Record<string, DeclaredOperation>> }).paths ?? {};

/** On every response under the version, whatever is called (contract, sections 2 and 6). */
const headersOfEveryAnswer = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
];

const ajv = new Ajv2020({ strict: false, allErrors: true, coerceTypes: false });
addFormats.default(ajv);
ajv.addSchema(document, 'openapi.json');
// Header fields arrive as text; their schemas may speak of integers.
const headerAjv = new Ajv2020({ strict: false, coerceTypes: true });
addFormats.default(headerAjv);
headerAjv.addSchema(document, 'openapi.json');

const bodyChecks = new Map<object, ValidateFunction>();

/** Throws, naming everything about the response that the contract does not promise. */
export function checkResponse(method: string, target: string, response: Checkable): void {
  const mistakes = headersOfEveryAnswer
    .filter((name) => !response.headers.has(name))
    .map((name) => `lacks the header ${name}`);
  const operation = operationAt(method, target);
  if (operation === undefined) mistakes.push(...undeclaredMistakes(method, response));
  else mistakes.push(...declaredMistakes(operation, method, response));
  if (mistakes.length > 0) {
    const name = operation?.operationId ?? 'no operation';
    throw new Error(
      `${method} ${target} (${name}) answered ${response.status}, which ${mistakes.join('; ')}.\n${response.text}`,
    );
  }
}

function operationAt(method: string, target: string): DeclaredOperation | undefined {
  const path = target.replace(/\?.*$/s, '');
  const fits = (template: string) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path);
  // A fixed path goes before one with parameters (OpenAPI, Paths Object).
  const template = path in paths ? path : Object.keys(paths).find(fits);
  if (template === undefined) return undefined;
  const verb = method.toLowerCase();
  return paths[template]?.[verb] ?? (verb === 'head' ? paths[template]?.get : undefined);
}

/** What no operation answers is an error, or a preflight's empty 204. */
function undeclaredMistakes(method: string, { status, headers, text }: Checkable): string[] {
  if (method === 'OPTIONS' && status === 204) return [];
  const { CacheControl, NoStore, ...declared } = document.components.headers;
  const mistakes = [
    ...headerMistakes('Cache-Control', status < 400 ? CacheControl : NoStore, headers.get('cache-control')),
    ...headerMistakes(
      'X-Content-Type-Options',
      declared['X-Content-Type-Options'],
      headers.get('x-content-type-options'),
    ),
  ];
  if (text === '') return mistakes;
  if (headers.get('content-type') !== 'application/json') return [...mistakes, 'is not application/json'];
  return [...mistakes, ...bodyErrors(text)];
}

function bodyErrors(text: string): string[] {
  return bodyMistakes({ $ref: 'openapi.json#/components/schemas/Error' }, text);
}

function declaredMistakes(operation: DeclaredOperation, method: string, response: Checkable): string[] {
  const found = operation.responses[String(response.status)];
  if (found === undefined) return [`is a status the operation does not declare`];
  const declared = resolved<DeclaredResponse>(found);
  const mistakes = Object.entries(declared.headers ?? {}).flatMap(([name, header]) =>
    headerMistakes(name, resolved<Declared>(header), response.headers.get(name)),
  );
  mistakes.push(...strangersAmong(response.headers, Object.keys(declared.headers ?? {})));
  const [type, content] = Object.entries(declared.content ?? {})[0] ?? [];
  if (type === undefined || content === undefined) return [...mistakes, ...mistakesOfNoBody(response)];
  if (method === 'HEAD') return response.text === '' ? mistakes : [...mistakes, 'has a body'];
  if (response.headers.get('content-type') !== type) mistakes.push(`is not ${type}`);
  return [...mistakes, ...bodyMistakes(content.schema, response.text)];
}

/** Headers that HTTP itself and CORS put on responses, which the contract does not repeat for each. */
const headersOfHttp = new Set([
  'connection',
  'content-length',
  'content-type',
  'date',
  'transfer-encoding',
  'vary',
]);

/** Headers of a response that its declaration does not have. */
function strangersAmong(headers: Headers, declared: readonly string[]): string[] {
  const known = new Set(declared.map((name) => name.toLowerCase()));
  return [...headers.keys()]
    .filter((name) => !known.has(name) && !headersOfHttp.has(name) && !name.startsWith('access-control-'))
    .map((name) => `has a header ${name} that is not declared`);
}

function mistakesOfNoBody({ headers, text }: Checkable): string[] {
  return [
    ...(text === '' ? [] : ['has a body']),
    ...(headers.has('content-type') ? ['has a Content-Type without a body'] : []),
  ];
}

function headerMistakes(name: string, { required, schema }: Declared, value: string | null): string[] {
  if (value === null) return required === true ? [`lacks the header ${name}`] : [];
  if (schema === undefined) return [];
  const check = compiled(headerAjv, schema);
  return check({ value }) ? [] : [`has a header ${name} of another form: ${value}`];
}

function bodyMistakes(schema: object, text: string): string[] {
  const check = compiled(ajv, schema);
  if (check({ value: JSON.parse(text) })) return [];
  return (check.errors ?? []).map(
    ({ instancePath, message }) => `has a body whose ${instancePath} ${message}`,
  );
}

/** The check of an object whose `value` has to fit the schema: a header's text can only be coerced in place. */
function compiled(compiler: Ajv2020, schema: object): ValidateFunction {
  let check = bodyChecks.get(schema);
  if (check === undefined) {
    check = compiler.compile({ type: 'object', properties: { value: absolute(schema) } });
    bodyChecks.set(schema, check);
  }
  return check;
}

/** The schema with its references into the document, from wherever they are compiled. */
function absolute(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"openapi.json#/')) as object;
}

function resolved<T extends object>(part: T & { readonly $ref?: string }): T {
  if (part.$ref === undefined) return part;
  const found = part.$ref
    .slice(2)
    .split('/')
    .reduce<unknown>((node, key) => (node as Record<string, unknown>)[key.replaceAll('~1', '/')], document);
  return found as T;
}
