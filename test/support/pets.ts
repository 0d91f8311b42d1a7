import type { Pet } from '../../src/contract/representations.ts';
import type { TestApp } from './app.ts';
import type { Answer } from './call.ts';

/** The body of a request that creates an animal. `categoryId` is written as a number. */
export function newPet(name = 'Ozzy', categoryId = '1', status?: string): string {
  const more = status === undefined ? '' : `,"status":${JSON.stringify(status)}`;
  return `{"name":${JSON.stringify(name)},"categoryId":${categoryId}${more}}`;
}

/** Adds this number of animals, which cycle through the given statuses. Returns the animals by ascending id. */
export async function addPets(app: TestApp, count: number, ...statuses: string[]): Promise<Pet[]> {
  const answers = Array.from({ length: count }, (_, index) =>
    app.call('POST', '/pets', {
      body: newPet(`Animal ${index}`, String(index), statuses[index % Math.max(1, statuses.length)]),
    }),
  );
  const pets = (await Promise.all(answers)).map(({ json }) => json as Pet);
  return pets.sort((a, b) => Number(a.id - b.id));
}

/** The targets of a Link header (RFC 8288), keyed by relation. */
export function linksOf(answer: Answer): Record<string, string> {
  const links = answer.header('Link').matchAll(/<([^>]*)>; rel="([^"]+)"/g);
  return Object.fromEntries([...links].map(([, target, relation]) => [relation ?? '', target ?? '']));
}

/** A link's target relative to /v1, for use with `call`. */
export function relative(link: string): string {
  return link.replace(/^.*?\/v1(?=\/)/, '');
}

/** Follows `rel="next"` links to the last page, and calls `between` after every page. */
export async function walk(
  app: TestApp,
  target: string,
  between: (page: Pet[]) => Promise<unknown> = async () => undefined,
): Promise<Pet[]> {
  const seen: Pet[] = [];
  for (let next: string | undefined = target; next !== undefined; ) {
    const answer = await app.call('GET', next);
    const page = answer.json as Pet[];
    seen.push(...page);
    await between(page);
    const link = linksOf(answer).next;
    next = link === undefined ? undefined : relative(link);
  }
  return seen;
}

/** The locations and names in an error's details, such as `query:limit`. */
export function faulty(answer: Answer): string[] {
  return (answer.error.details ?? []).map(({ in: place, name }) => `${place}:${name}`);
}
