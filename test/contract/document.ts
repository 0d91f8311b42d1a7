/** Types for the parts of an OpenAPI document that the tests use. */

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation | undefined>>>>;
}

export interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: unknown;
  readonly [keyword: string]: unknown;
}

interface Referable {
  readonly $ref?: string;
}

export interface Operation {
  readonly operationId: string;
  readonly 'x-stability': string;
  readonly 'x-required-role'?: string;
  readonly security?: readonly object[];
  readonly parameters?: readonly (Parameter & Referable)[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Response & Referable>>;
}

export interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

export interface Response {
  readonly 'x-stability'?: string;
  readonly headers?: Readonly<Record<string, Header & Referable>>;
  readonly content?: Content;
}

interface Header {
  readonly required?: boolean;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

/** Resolves `$ref`, if present. */
export function resolvedIn<Part extends object>(document: object, part: Part): Part {
  const { $ref } = part as Referable;
  if ($ref === undefined) return part;
  const keys = $ref.slice(2).split('/');
  const found = keys.reduce<unknown>(
    (node, key) => (node as Record<string, unknown>)[unescaped(key)],
    document,
  );
  return resolvedIn(document, found as Part);
}

/** Decodes a segment of a JSON Pointer. */
export function unescaped(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~');
}
