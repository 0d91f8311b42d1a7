/** Helpers that inspect the schemas in the operations' definitions. */
import * as z from 'zod';

/** Unwraps an optional schema, and the schema of a list in a request. */
function innermost(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodPreprocess) return innermost(schema.out as z.ZodType);
  const isWrapped = [z.ZodOptional, z.ZodDefault, z.ZodNullable].some((kind) => schema instanceof kind);
  return isWrapped ? innermost((schema as z.ZodOptional<z.ZodType>).unwrap()) : schema;
}

/** Values of an enumeration. Undefined for other schemas. */
export function wordsOf(schema: z.ZodType): readonly string[] | undefined {
  const inner = innermost(schema);
  return inner instanceof z.ZodEnum ? inner.options.map(String) : undefined;
}

export function isInteger(schema: z.ZodType): boolean {
  return overriddenType(innermost(schema)) === 'integer';
}

/** Whether a query parameter accepts a list of values, and so may be repeated. */
export function isListParameter(schema: z.ZodType): boolean {
  return overriddenType(schema) === 'array';
}

function overriddenType(schema: z.ZodType): string | undefined {
  return (schema.meta()?.override as { readonly type?: string } | undefined)?.type;
}

export function isBoolean(schema: z.ZodType): boolean {
  return innermost(schema) instanceof z.ZodBoolean;
}

export function isArray(schema: z.ZodType): boolean {
  return innermost(schema) instanceof z.ZodArray;
}
