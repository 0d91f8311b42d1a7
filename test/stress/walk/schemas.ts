/** What the schemas of the rows say about the values that they take. */
import * as z from 'zod';

/** The schema without what makes it optional. */
function innermost(schema: z.ZodType): z.ZodType {
  const isWrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault;
  return isWrapped ? innermost(schema.unwrap() as z.ZodType) : schema;
}

/** The words of an enumeration; undefined for any other schema. */
export function wordsOf(schema: z.ZodType): readonly string[] | undefined {
  const inner = innermost(schema);
  return inner instanceof z.ZodEnum ? inner.options.map(String) : undefined;
}

export function isInteger(schema: z.ZodType): boolean {
  const { override } = (innermost(schema).meta() ?? {}) as { readonly override?: { readonly type?: string } };
  return override?.type === 'integer';
}
