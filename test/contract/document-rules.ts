/** Rules for every OpenAPI document of the service. */
import Ajv from 'ajv/dist/2020';
import addFormats from 'ajv-formats';

/** Examples that do not match their schemas. */
export function misfitsIn(document: object): Example[] {
  const ajv = addFormats(new Ajv({ strict: false, allErrors: true }));
  ajv.addSchema({ $id: 'document', ...document });
  return [...examplesIn(document)].filter(({ schema, value }) => !ajv.validate(`document#${schema}`, value));
}

/** An example in a document. */
export interface Example {
  /** JSON Pointer of the example's schema, as a URI fragment. */
  readonly schema: string;
  readonly value: unknown;
}

/** The examples of media types (next to their schema) and of schemas (inside them). */
export function* examplesIn(document: unknown, node = document, pointer = ''): Generator<Example> {
  if (typeof node !== 'object' || node === null) return;
  const { schema, examples } = node as { schema?: unknown; examples?: unknown };
  if (Array.isArray(examples)) {
    for (const value of examples) yield { schema: pointer, value };
  } else if (schema !== undefined) {
    for (const example of Object.values(examples ?? {})) {
      yield { schema: `${pointer}/schema`, value: resolved(document, example).value };
    }
  }
  for (const [key, child] of Object.entries(node)) {
    yield* examplesIn(
      document,
      child,
      `${pointer}/${encodeURIComponent(key.replace(/~/g, '~0').replace(/\//g, '~1'))}`,
    );
  }
}

function resolved(document: unknown, example: { $ref?: string; value?: unknown }): { value?: unknown } {
  if (example.$ref === undefined) return example;
  return example.$ref
    .slice(2)
    .split('/')
    .reduce((node, key) => (node as Record<string, unknown>)[key], document) as object;
}
