/** Serves the client guides, which are Markdown files in the repository, as pages under `/docs`. */
import icon from '../../../assets/guides/icon.svg' with { type: 'text' };
import style from '../../../assets/guides/style.css' with { type: 'text' };
import typescriptClient from '../../../client/README.md' with { type: 'text' };
import errorCodes from '../../../docs/errors.md' with { type: 'text' };
import animals from '../../../docs/guides/animals.md' with { type: 'text' };
import apiKeys from '../../../docs/guides/api-keys.md' with { type: 'text' };
import conditionalRequests from '../../../docs/guides/conditional-requests.md' with { type: 'text' };
import errorsAndRetries from '../../../docs/guides/errors-and-retries.md' with { type: 'text' };
import events from '../../../docs/guides/events.md' with { type: 'text' };
import generatedClients from '../../../docs/guides/generated-clients.md' with { type: 'text' };
import orders from '../../../docs/guides/orders.md' with { type: 'text' };
import pagination from '../../../docs/guides/pagination.md' with { type: 'text' };
import quickstart from '../../../docs/guides/quickstart.md' with { type: 'text' };
import overview from '../../../docs/guides/README.md' with { type: 'text' };
import rateLimits from '../../../docs/guides/rate-limits.md' with { type: 'text' };
import requestsAndResponses from '../../../docs/guides/requests-and-responses.md' with { type: 'text' };
import sandbox from '../../../docs/guides/sandbox.md' with { type: 'text' };
import versioning from '../../../docs/guides/versioning.md' with { type: 'text' };
import webhooks from '../../../docs/guides/webhooks.md' with { type: 'text' };
import * as mirror from '../../../examples/mirror.ts' with { type: 'text' };
import * as bunReceiver from '../../../examples/webhooks/bun.ts' with { type: 'text' };
import nodeReceiver from '../../../examples/webhooks/node.mjs' with { type: 'text' };
import pythonReceiver from '../../../examples/webhooks/receiver.py' with { type: 'text' };
import { clientErrors } from '../../contract/errors.ts';
import type { HeaderFields } from '../pipeline/headers.ts';

/** The guides by path under `/docs`, in reading order. */
const guides: ReadonlyMap<string, string> = new Map([
  ['guides', overview],
  ['guides/quickstart', quickstart],
  ['guides/typescript-client', typescriptClient],
  ['guides/api-keys', apiKeys],
  ['guides/animals', animals],
  ['guides/orders', orders],
  ['guides/webhooks', webhooks],
  ['guides/events', events],
  ['guides/requests-and-responses', requestsAndResponses],
  ['guides/pagination', pagination],
  ['guides/rate-limits', rateLimits],
  ['guides/errors-and-retries', errorsAndRetries],
  ['guides/conditional-requests', conditionalRequests],
  ['guides/generated-clients', generatedClients],
  ['guides/versioning', versioning],
  ['guides/sandbox', sandbox],
  ['errors', errorCodes],
]);

/** The text of a TypeScript file. The compiler reads the import as a module, although its attribute makes it text. */
const textOf = (imported: unknown) => (imported as { readonly default: string }).default;

/** The example programs that the guides mention, by path under `/docs`. */
const examples: ReadonlyMap<string, string> = new Map([
  ['examples/mirror.ts', textOf(mirror)],
  ['examples/webhooks/bun.ts', textOf(bunReceiver)],
  ['examples/webhooks/node.mjs', nodeReceiver],
  ['examples/webhooks/receiver.py', pythonReceiver],
]);

/** The service's icon as inline HTML, without a title because the name is shown next to it. */
export const inlineIcon = icon
  .trim()
  .replace(/ xmlns="[^"]*"/, ' aria-hidden="true"')
  .replace(/<title>.*?<\/title>/, '');

export function errorPath(code: string): string {
  return `/docs/errors/${code}`;
}

interface StaticPage {
  readonly contentType: string;
  readonly text: () => string;
}

/** Address of the service in the Markdown files, which the pages replace with the actual one. */
const exampleAddress = 'http://127.0.0.1:3000';

function guidePages(address: () => string): ReadonlyMap<string, StaticPage> {
  const pages = new Map<string, StaticPage>([
    ['/docs/style.css', { contentType: 'text/css; charset=utf-8', text: () => style }],
    ['/docs/icon.svg', { contentType: 'image/svg+xml', text: () => icon }],
  ]);
  const add = (path: string, markdown: string) =>
    pages.set(`/docs/${path}`, {
      contentType: 'text/html; charset=utf-8',
      text: () =>
        guidePage(
          path,
          markdown.replaceAll(exampleAddress, () => address()),
        ),
    });
  for (const [path, markdown] of guides) add(path, markdown);
  for (const [path, text] of examples)
    pages.set(`/docs/${path}`, { contentType: 'text/plain; charset=utf-8', text: () => text });
  for (const code of Object.keys(clientErrors)) add(`errors/${code}`, errorMarkdown(code));
  return pages;
}

/** The page that browsers get for unknown paths. `root` is the public URL of the service. */
export function notFoundPage(root: string): string {
  const text = 'Nothing is served at this address. Start with the [guides](README.md).';
  return layout({ title: 'Page not found', toDocs: `${root}/docs/`, body: `# Page not found\n\n${text}` });
}

/** The section about one error code, as a page. */
function errorMarkdown(code: string): string {
  const start = errorCodes.indexOf(`\n## ${code}\n`) + 1;
  const end = errorCodes.indexOf('\n## ', start);
  return errorCodes.slice(start, end === -1 ? undefined : end).replace(/^##/, '#');
}

function guidePage(path: string, body: string): string {
  // Links are relative, so that they work behind a proxy that serves the pages under another path.
  return layout({ path, title: titleOf(body), toDocs: path.includes('/') ? '../' : '', body });
}

function titleOf(markdown: string): string {
  return /^# (.*)$/m.exec(markdown)?.[1] ?? '';
}

interface Page {
  /** Path under `/docs`; undefined for a page that is not in the navigation. */
  readonly path?: string;
  readonly title: string;
  readonly toDocs: string;
  readonly body: string;
}

function layout({ path, title, toDocs, body }: Page): string {
  const current = path?.startsWith('errors/') ? 'errors' : path;
  const items = [...guides].map(([to, markdown]) => {
    const mark = to === current ? ' aria-current="page"' : '';
    return `<li><a href="${toDocs}${to}"${mark}>${to === 'guides' ? 'Overview' : titleOf(markdown)}</a></li>`;
  });
  // The reference page is at `/docs` itself.
  const reference = path === undefined ? toDocs.slice(0, -1) : `${toDocs}../docs`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Animal Store API</title>
<link rel="icon" href="${toDocs}icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${toDocs}style.css">
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header>
<a class="brand" href="${toDocs}guides">${inlineIcon}Animal Store API</a>
<nav class="sections" aria-label="Sections"><a href="${toDocs}guides" aria-current="page">Guides</a><a href="${reference}">Reference</a></nav>
</header>
<div class="columns">
<aside><nav aria-label="Guides"><ul class="guides">
${items.join('\n')}
</ul></nav></aside>
<main id="content">
${rendered(body, toDocs)}</main>
</div>
</body>
</html>
`;
}

function rendered(markdown: string, toDocs: string): string {
  return Bun.markdown
    .html(markdown, { headings: { ids: true } })
    .replace(/<!--[\s\S]*?-->\n?/g, '')
    .replaceAll('<table>', '<div class="scroll"><table>')
    .replaceAll('</table>', '</table></div>')
    .replace(/href="(?:\.\.\/)+(examples\/[^"]*\.\w+)"/g, `href="${toDocs}$1"`)
    .replace(/href="([^"]*\.md(?:#[^"]*)?)"/g, (_, target: string) => `href="${toDocs}${pageFor(target)}"`);
}

/**
 * The path under `/docs` of the page that a link between Markdown files refers to. Each error code has a separate page.
 */
function pageFor(target: string): string {
  const [, file = '', fragment = ''] = /([\w-]+)\.md(?:#(.*))?$/.exec(target) ?? [];
  if (file === 'errors') return fragment === '' ? 'errors' : `errors/${fragment}`;
  const isClient = target.includes('client/README.md');
  const page = isClient ? 'guides/typescript-client' : file === 'README' ? 'guides' : `guides/${file}`;
  return fragment === '' ? page : `${page}#${fragment}`;
}

/** Pages load only style sheets and images, and only from this service. */
const pageHeaders: HeaderFields = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cache-Control': 'no-cache',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/**
 * Pages by path. Each page is rendered on its first request and cached as a Blob, which the runtime sends without
 * copying.
 */
export function guideRoutes(address: () => string): [path: string, page: () => Response][] {
  return [...guidePages(address)].map(([path, { contentType, text }]) => {
    const headers = { ...pageHeaders, 'Content-Type': contentType };
    let body: Blob | undefined;
    const page = () => {
      body ??= new Blob([text()]);
      return new Response(body, { headers });
    };
    return [path, page];
  });
}

export function html(status: number, text: string): Response {
  return new Response(text, {
    status,
    headers: { ...pageHeaders, 'Content-Type': 'text/html; charset=utf-8' },
  });
}
