/** Stored data whose changes are visible to clients. `callers` covers keys, accounts and plans. */
export const resources = ['callers', 'pets', 'orders', 'categories', 'webhooks'] as const;

export type Resource = (typeof resources)[number];

/** Data that has no version because it changes too often. Responses that contain such data are not cached. */
export type UnversionedResource = 'deliveries';

/**
 * The version of a resource increases with every change by any process. Data read at an older version must be read
 * again.
 */
export type Versions = Readonly<Record<Resource, number>>;

export function mapVersions(number: (resource: Resource, index: number) => number): Versions {
  const versions: Partial<Record<Resource, number>> = {};
  for (const [index, resource] of resources.entries()) versions[resource] = number(resource, index);
  return versions as Versions;
}
