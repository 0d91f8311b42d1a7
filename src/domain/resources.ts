/** What the service keeps that clients can see change. `callers` are keys, accounts and plans. */
export const resources = ['callers', 'pets', 'orders', 'categories', 'webhooks'] as const;

export type Resource = (typeof resources)[number];

/** What responses show that has no version, because it changes all the time. Such responses are not cached. */
export type Unversioned = 'deliveries';

/** The number of a resource rises with every change, by any process: what was read under an older one must be read again. */
export type Versions = Readonly<Record<Resource, number>>;

export function versionsFrom(number: (resource: Resource, index: number) => number): Versions {
  const versions: Partial<Record<Resource, number>> = {};
  for (const [index, resource] of resources.entries()) versions[resource] = number(resource, index);
  return versions as Versions;
}
