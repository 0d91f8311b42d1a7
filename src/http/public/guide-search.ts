/** The index of the guides' search: every section, error code and operation. `search.mjs` searches it in the browser. */
import { clientErrors } from '../../contract/errors.ts';

/**
 * Title, the place that contains it, its whole text on one line, an address relative to `/docs/`, and the texts of links to
 * it. Only the address of a page has no fragment.
 */
export type SearchEntry = readonly [
  title: string,
  place: string,
  text: string,
  target: string,
  linkTexts?: string,
];

interface SectionOptions {
  /** The place of the page. */
  readonly kind?: string;
  /** The texts of links by target. */
  readonly linkTexts?: ReadonlyMap<string, string>;
  /** The start of the anchors of the sections. */
  readonly anchors?: string;
}

/** Returns one entry for each `h1` to `h3` of a page. */
export function sectionEntries(
  path: string,
  html: string,
  { kind = 'Guide', linkTexts, anchors = '' }: SectionOptions = {},
): SearchEntry[] {
  const sections = [...html.matchAll(/<h([1-3]) id="([^"]*)">(.*?)<\/h\1>([\s\S]*?)(?=<h[1-3] |$)/g)];
  const page = plainText(sections[0]?.[3] ?? '');
  return sections.map(([, level, id = '', heading = '', body = '']) => {
    const [title, text] = [plainText(heading), plainText(body)];
    const target = level === '1' ? path : `${path}#${anchors}${id}`;
    const entry = [title, level === '1' ? kind : page, text, target] as const;
    const links = linkTexts?.get(target);
    return links === undefined ? entry : [...entry, links];
  });
}

/** Returns the texts of all links between pages by target, such as "`Idempotency-Key`" for "Retrying safely". */
export function linkTextsByTarget(pages: readonly string[]): ReadonlyMap<string, string> {
  const texts = new Map<string, Set<string>>();
  for (const page of pages) {
    for (const [, target = '', text = ''] of page.matchAll(/<a href="(guides[^"]*)">([\s\S]*?)<\/a>/g))
      texts.set(target, (texts.get(target) ?? new Set()).add(plainText(text)));
  }
  return new Map([...texts].map(([target, all]) => [target, [...all].join(', ')]));
}

/** Returns one entry for each error code. `pageOf` returns the HTML of the page about a code. */
export function errorEntries(pageOf: (code: string) => string): SearchEntry[] {
  return Object.entries(clientErrors).map(([code, { status }]) => {
    const text = plainText(pageOf(code).replace(/^[\s\S]*?<\/h1>/, ''));
    return [code, `Error ${status}`, text, `errors/${code}`];
  });
}

interface OpenapiParameter {
  readonly $ref?: string;
  readonly name?: string;
  readonly description?: string;
}

interface OpenapiSchema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, { readonly description?: string }>>;
}

interface OpenapiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly OpenapiParameter[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: OpenapiSchema }>>;
  };
}

interface OpenapiDocument {
  readonly info: { readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Partial<OpenapiOperation>>>>>;
  readonly components: {
    readonly parameters: Readonly<Record<string, OpenapiParameter>>;
    readonly schemas: Readonly<Record<string, OpenapiSchema>>;
  };
}

/** Returns one entry for each section and operation of the reference page. Its target is the anchor that the page uses. */
export function referenceEntries(openapi: string): SearchEntry[] {
  const { info, paths, components } = JSON.parse(openapi) as OpenapiDocument;
  const introduction = Bun.markdown.html(info.description, { headings: { ids: true } });
  const page = `<h1 id="">API reference</h1>${introduction}`;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([name, operation]) => {
      const { operationId, summary, tags } = operation;
      if (operationId === undefined || summary === undefined) return [];
      const method = name.toUpperCase();
      const tag = tags?.[0]?.toLowerCase().replaceAll(' ', '-');
      const text = plainText(Bun.markdown.html(operationMarkdown(operation, components)));
      return [[summary, `${method} /v1${path}`, text, `../docs#tag/${tag}/${method}${path}`] as const];
    }),
  );
  return [...sectionEntries('../docs', page, { kind: 'Reference', anchors: 'description/' }), ...operations];
}

/** The description of an operation, its parameters and the members of its body. */
function operationMarkdown(
  { operationId, description = '', parameters = [], requestBody }: Partial<OpenapiOperation>,
  components: OpenapiDocument['components'],
): string {
  // The guides describe the headers that many operations share.
  const shared = parameters.flatMap(({ $ref }) => components.parameters[nameIn($ref)]?.name ?? []);
  const own = parameters.flatMap(({ $ref, name, description = '' }) =>
    $ref === undefined ? `${name}: ${description}` : [],
  );
  const members = Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => {
    const { properties = {} } = components.schemas[nameIn(schema.$ref)] ?? schema;
    return Object.entries(properties).map(([name, { description = '' }]) => `${name}: ${description}`);
  });
  return [
    description,
    ...new Set([...own, ...members]),
    `Headers: ${shared.join(', ')}.`,
    `Operation ID: ${operationId}`,
  ].join('\n\n');
}

/** The name of the component that a `$ref` refers to, or an empty string. */
function nameIn(reference = ''): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

const characters: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' };

/** The text of an HTML fragment on one line. */
function plainText(html: string): string {
  return html
    .replaceAll('<sup>', '^')
    .replace(/<\/(?:p|li|t[dh]|h\d|pre)>/g, '$& ')
    .replace(/<[^>]*>/g, '')
    .replace(/&(\w+);/g, (entity, name: string) => characters[name] ?? entity)
    .replace(/\s+/g, ' ')
    .trim();
}
