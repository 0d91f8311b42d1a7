/**
 * The reference page: Scalar with the service's OpenAPI document, served from memory. Every body is a Blob, which the
 * runtime sends without copying. With a string or a byte array, each response would hold a copy until it is sent.
 */
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import scalarPath from '../../../assets/reference/scalar.js.gz' with { type: 'file' };
import style from '../../../assets/reference/style.css' with { type: 'text' };
import scalar from '../../../assets/reference/version.json' with { type: 'json' };
import { acceptsGzip } from '../pipeline/request-head.ts';
import { iconHtml } from './guides.ts';

/**
 * Scalar's settings. Requests to the vendor's hosts are disabled, and properties keep the order of the OpenAPI
 * document.
 */
const configuration = {
  theme: 'none',
  favicon: 'docs/icon.svg',
  proxyUrl: '',
  withDefaultFonts: false,
  telemetry: false,
  persistAuth: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  orderSchemaPropertiesBy: 'preserve',
  orderRequiredPropertiesFirst: false,
  agent: { disabled: true },
  mcp: { disabled: true },
};

// URLs are relative, so that they work behind a proxy that serves the page under another path.
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference · Animal Store API</title>
<link rel="icon" href="docs/icon.svg" type="image/svg+xml">
<style>${style}</style>
<script src="docs/scalar.js?v=${scalar.version}" defer></script>
</head>
<body>
<header class="site">
<a class="brand" href="docs/guides">${iconHtml}Animal Store API</a>
<nav aria-label="Sections"><a href="docs/guides">Guides</a><a href="docs" aria-current="page">Reference</a></nav>
</header>
<noscript>This page needs JavaScript. The OpenAPI document is <a href="openapi.json">openapi.json</a>.</noscript>
<div id="api-reference" data-url="openapi.json" data-configuration="${escapeAttribute(configuration)}"></div>
</body>
</html>
`;

function escapeAttribute(value: unknown): string {
  return JSON.stringify(value).replaceAll('&', '&amp;').replaceAll('"', '&quot;');
}

/**
 * Serves the page. Its security policy allows requests only to this service and the servers in the OpenAPI document.
 */
export function serveReference(openapi: () => string): () => Response {
  const body = new Blob([page]);
  let policy: string | undefined;
  return () => {
    policy ??= contentSecurityPolicy(openapi());
    const headers = {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policy,
      'Cache-Control': 'no-cache',
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
    };
    return new Response(body, { headers });
  };
}

function contentSecurityPolicy(openapi: string): string {
  const { servers } = JSON.parse(openapi) as { servers: { url: string }[] };
  const origins = servers.flatMap(({ url }) => URL.parse(url)?.origin ?? []);
  return [
    "default-src 'none'",
    "script-src 'self'",
    // Scalar's script contains a style sheet and sets inline styles on elements.
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    'font-src data:',
    ["connect-src 'self'", ...new Set(origins)].join(' '),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** Serves Scalar's script, compressed if the client accepts gzip. The script's URL contains its version. */
export function serveReferenceScript(): (request: Request) => Promise<Response> {
  const bytes = readFileSync(scalarPath);
  const compressed = new Blob([bytes]);
  let plain: Promise<Blob> | undefined;
  const headers = {
    'Content-Type': 'text/javascript; charset=utf-8',
    'Cache-Control': 'public, max-age=31536000, immutable',
    'X-Content-Type-Options': 'nosniff',
    Vary: 'Accept-Encoding',
  };
  return async (request) => {
    if (acceptsGzip(request)) {
      return new Response(compressed, { headers: { ...headers, 'Content-Encoding': 'gzip' } });
    }
    plain ??= promisify(gunzip)(bytes).then((script) => new Blob([script]));
    return new Response(await plain, { headers });
  };
}
