/** Code shared by both OpenAPI documents. */
import type { ZodOpenApiOperationObject, ZodOpenApiOverride, ZodOpenApiPathsObject } from 'zod-openapi';
import type { Operation, Tag } from '../../src/contract/operation.ts';

export function stringifyDocument(document: object): string {
  // If the schema is a reference, the library adds a `param` property that repeats the parameter's description.
  const withoutParam = (key: string, value: unknown) => (key === 'param' ? undefined : value);
  return `${JSON.stringify(document, withoutParam, 2)}\n`;
}

/** Groups operation descriptions by path and method. */
export function buildPaths<Row extends Operation>(
  rows: readonly Row[],
  describe: (row: Row) => ZodOpenApiOperationObject,
): ZodOpenApiPathsObject {
  const items = [...Map.groupBy(rows, ({ path }) => path)].map(([path, those]) => [
    path,
    Object.fromEntries(those.map((row) => [row.method.toLowerCase(), describe(row)])),
  ]);
  return Object.fromEntries(items);
}

/** Returns the operations' tags, in order of first occurrence. */
export function buildTags(rows: readonly Operation[]): Tag[] {
  return [...new Map(rows.map(({ tag }) => [tag.name, tag])).values()];
}

/** Removes misleading keywords that the library adds. */
export function removeMisleadingKeywords(rows: readonly Operation[]): ZodOpenApiOverride {
  const bodies: ReadonlySet<unknown> = new Set(rows.map(({ body }) => body?.schema));
  return ({ jsonSchema, zodSchema, io }) => {
    // New members may be added to responses within an API version (see `Pet`).
    if (io === 'output') delete jsonSchema.additionalProperties;
    // TypeScript generators treat a member with a default as required, so the default is stated in the description
    // instead.
    if (bodies.has(zodSchema)) {
      for (const property of Object.values(jsonSchema.properties ?? {})) {
        if (typeof property === 'object') delete property.default;
      }
    }
  };
}
