import { guidePages } from './guides.ts';
import type { HeaderFields } from './headers.ts';

/** What every page of ours may load: its style and its pictures, from here and nowhere else. */
const pageHeaders: HeaderFields = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cache-Control': 'no-cache',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** The guides by path. Each is rendered when it is first asked for, and held as a Blob, which is sent without a copy. */
export function guideRoutes(): [path: string, page: () => Response][] {
  return [...guidePages()].map(([path, { contentType, text }]) => {
    const headers = { ...pageHeaders, 'Content-Type': contentType };
    let body: Blob | undefined;
    const page = () => {
      body ??= new Blob([text()]);
      return new Response(body, { headers });
    };
    return [path, page];
  });
}

/** A page for people. */
export function html(status: number, text: string): Response {
  return new Response(text, {
    status,
    headers: { ...pageHeaders, 'Content-Type': 'text/html; charset=utf-8' },
  });
}
