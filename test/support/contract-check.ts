import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

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

/** The parts of a response that are checked. */
export interface Checkable {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

interface AnyDocument {
  readonly paths: object;
  readonly components: { readonly headers: Readonly<Record<string, Declared>> };
}

interface ContractOptions {
  readonly document: AnyDocument;
  /** Names of headers that every response must have, regardless of the operation. */
  readonly everywhere: readonly string[];
  /** Lower-case names of headers that are allowed without being declared for each response. */
  readonly undeclared?: readonly string[];
  /** Header components, keyed by header name, of a response that does not belong to an operation. */
  readonly ofNoOperation: (status: number) => Readonly<Record<string, string>>;
}

/** HTTP and CORS headers that a contract does not declare for each response. */
const headersOfHttp = ['connection', 'content-length', 'content-type', 'date', 'transfer-encoding', 'vary'];

/** Compares responses with an OpenAPI document. */
export class Contract {
  readonly #options: ContractOptions;
  readonly #paths: Readonly<Record<string, Record<string, DeclaredOperation>>>;
  readonly #templates: readonly (readonly [path: string, form: RegExp])[];
  readonly #ajv = ajvWith({ strict: false, allErrors: true, coerceTypes: false });
  // Coerces types, because header values are strings but their schemas may require integers.
  readonly #headerAjv = ajvWith({ strict: false, coerceTypes: true });
  readonly #checks = new Map<object, ValidateFunction>();
  readonly #referenced = new Map<string, object>();
  readonly #known: ReadonlySet<string>;

  constructor(options: ContractOptions) {
    this.#options = options;
    this.#paths = options.document.paths as Record<string, Record<string, DeclaredOperation>>;
    this.#templates = Object.keys(this.#paths).map(
      (path) => [path, new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`)] as const,
    );
    this.#known = new Set([...headersOfHttp, ...(options.undeclared ?? [])]);
    for (const ajv of [this.#ajv, this.#headerAjv]) ajv.addSchema(options.document, 'openapi.json');
  }

  /** Throws an error that lists every deviation of the response from the contract. */
  check(method: string, target: string, response: Checkable): void {
    const mistakes = this.#options.everywhere
      .filter((name) => !response.headers.has(name))
      .map((name) => `lacks the header ${name}`);
    const operation = this.#operationAt(method, target);
    if (operation === undefined) mistakes.push(...this.#nonOperationViolations(method, response));
    else mistakes.push(...this.#operationViolations(operation, method, response));
    if (mistakes.length > 0) {
      const name = operation?.operationId ?? 'no operation';
      throw new Error(
        `${method} ${target} (${name}) answered ${response.status}, which ${mistakes.join('; ')}.\n${response.text}`,
      );
    }
  }

  #operationAt(method: string, target: string): DeclaredOperation | undefined {
    const path = target.replace(/\?.*$/s, '');
    // A fixed path takes precedence over a path with parameters (OpenAPI, Paths Object).
    const template = path in this.#paths ? path : this.#templates.find(([, form]) => form.test(path))?.[0];
    if (template === undefined) return undefined;
    const verb = method.toLowerCase();
    return this.#paths[template]?.[verb] ?? (verb === 'head' ? this.#paths[template]?.get : undefined);
  }

  /** A response that does not belong to an operation must be an error or the empty 204 of a preflight. */
  #nonOperationViolations(method: string, { status, headers, text }: Checkable): string[] {
    if (method === 'OPTIONS' && status === 204) return [];
    const declared = this.#options.document.components.headers;
    const mistakes = Object.entries(this.#options.ofNoOperation(status)).flatMap(([name, component]) =>
      this.#headerMistakes(name, declared[component] ?? {}, headers.get(name)),
    );
    if (text === '') return mistakes;
    if (headers.get('content-type') !== 'application/json') return [...mistakes, 'is not application/json'];
    return [...mistakes, ...this.#bodyMistakes({ $ref: 'openapi.json#/components/schemas/Error' }, text)];
  }

  #operationViolations(operation: DeclaredOperation, method: string, response: Checkable): string[] {
    const found = operation.responses[String(response.status)];
    if (found === undefined) return [`is a status the operation does not declare`];
    const declared = this.#resolved<DeclaredResponse>(found);
    const mistakes = Object.entries(declared.headers ?? {}).flatMap(([name, header]) =>
      this.#headerMistakes(name, this.#resolved<Declared>(header), response.headers.get(name)),
    );
    mistakes.push(...this.#strangersAmong(response.headers, Object.keys(declared.headers ?? {})));
    const [type, content] = Object.entries(declared.content ?? {})[0] ?? [];
    if (type === undefined || content === undefined) return [...mistakes, ...mistakesOfNoBody(response)];
    if (method === 'HEAD') return response.text === '' ? mistakes : [...mistakes, 'has a body'];
    if (response.headers.get('content-type') !== type) mistakes.push(`is not ${type}`);
    if (type === 'text/event-stream') return mistakes;
    const texts =
      type === 'application/x-ndjson' ? response.text.split('\n').filter(Boolean) : [response.text];
    return [...mistakes, ...texts.flatMap((text) => this.#bodyMistakes(content.schema, text))];
  }

  /** Describes the headers of a response that are not declared. */
  #strangersAmong(headers: Headers, declared: readonly string[]): string[] {
    const known = new Set(declared.map((name) => name.toLowerCase()));
    return [...headers.keys()]
      .filter((name) => !known.has(name) && !this.#known.has(name) && !name.startsWith('access-control-'))
      .map((name) => `has a header ${name} that is not declared`);
  }

  #headerMistakes(name: string, { required, schema }: Declared, value: string | null): string[] {
    if (value === null) return required === true ? [`lacks the header ${name}`] : [];
    if (schema === undefined) return [];
    const check = this.#compiled(this.#headerAjv, schema);
    return check({ value }) ? [] : [`has a header ${name} of another form: ${value}`];
  }

  #bodyMistakes(schema: object, text: string): string[] {
    const check = this.#compiled(this.#ajv, schema);
    if (check({ value: JSON.parse(text) })) return [];
    return (check.errors ?? []).map(
      ({ instancePath, message }) => `has a body whose ${instancePath} ${message}`,
    );
  }

  /** Compiles the schema as the `value` property of an object, because Ajv can coerce strings only inside an object. */
  #compiled(compiler: Ajv2020, schema: object): ValidateFunction {
    let check = this.#checks.get(schema);
    if (check === undefined) {
      check = compiler.compile({ type: 'object', properties: { value: absolute(schema) } });
      this.#checks.set(schema, check);
    }
    return check;
  }

  #resolved<T extends object>(part: T & { readonly $ref?: string }): T {
    const { $ref: reference } = part;
    if (reference === undefined) return part;
    let found = this.#referenced.get(reference);
    if (found === undefined) {
      found = reference
        .slice(2)
        .split('/')
        .reduce(
          (node, key) => (node as Record<string, object>)[key.replaceAll('~1', '/')] as object,
          this.#options.document as object,
        );
      this.#referenced.set(reference, found);
    }
    return found as T;
  }
}

/** Most schemas check only a few responses, so compiling them takes longer than using them. */
const quickToCompile = { code: { optimize: false }, inlineRefs: false };

function ajvWith(options: ConstructorParameters<typeof Ajv2020>[0]): Ajv2020 {
  const ajv = new Ajv2020({ ...quickToCompile, ...options });
  addFormats.default(ajv);
  return ajv;
}

function mistakesOfNoBody({ headers, text }: Checkable): string[] {
  return [
    ...(text === '' ? [] : ['has a body']),
    ...(headers.has('content-type') ? ['has a Content-Type without a body'] : []),
  ];
}

/** The schema with absolute references, so that the schema can be compiled outside the document. */
function absolute(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"openapi.json#/')) as object;
}
