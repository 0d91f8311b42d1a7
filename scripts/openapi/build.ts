/** Common parts of the OpenAPI documents of both listeners. */
import type { ZodOpenApiOperationObject, ZodOpenApiOverride, ZodOpenApiPathsObject } from 'zod-openapi';
import type { Operation, Tag } from '../../src/contract/operation.ts';

export function textOf(document: object): string {
  // The library repeats the description of a parameter in a schema that refers to another one.
  const withoutParam = (key: string, value: unknown) => (key === 'param' ? undefined : value);
  return `${JSON.stringify(document, withoutParam, 2)}\n`;
}

/** The paths of rows, with each of their methods as it is described. */
export function pathsOf<Row extends Operation>(
  rows: readonly Row[],
  describe: (row: Row) => ZodOpenApiOperationObject,
): ZodOpenApiPathsObject {
  const items = [...Map.groupBy(rows, ({ path }) => path)].map(([path, those]) => [
    path,
    Object.fromEntries(those.map((row) => [row.method.toLowerCase(), describe(row)])),
  ]);
  return Object.fromEntries(items);
}

/** The chapters that rows name, in the order of the rows. */
export function tagsOf(rows: readonly Operation[]): Tag[] {
  return [...new Map(rows.map(({ tag }) => [tag.name, tag])).values()];
}

/** Removes misleading additions of the library. */
export function removeMisleading(rows: readonly Operation[]): ZodOpenApiOverride {
  const bodies: ReadonlySet<unknown> = new Set(rows.map(({ body }) => body?.schema));
  return ({ jsonSchema, zodSchema, io }) => {
    // Responses may gain members within a version (see `Pet`).
    if (io === 'output') delete jsonSchema.additionalProperties;
    // TypeScript generators treat a member with a default as required, so the default is in its description.
    if (bodies.has(zodSchema)) {
      for (const property of Object.values(jsonSchema.properties ?? {})) {
        if (typeof property === 'object') delete property.default;
      }
    }
  };
}
