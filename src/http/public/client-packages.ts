/**
 * The TypeScript client as npm packages, so that it can be installed from the service itself. Each version has its own
 * path, because lock files record the path together with a hash of the content.
 */
import { readFileSync } from 'node:fs';
import version110 from '../../../assets/client/client-1.1.0.tgz' with { type: 'file' };
import version120 from '../../../assets/client/client-1.2.0.tgz' with { type: 'file' };

/** Files by version. The last version is the current one. */
const packages = [
  ['1.1.0', version110],
  ['1.2.0', version120],
] as const;

export function clientPackageRoutes(): [path: string, page: () => Response][] {
  return packages.map(([version, file]) => [`/client-${version}.tgz`, packagePage(file)]);
}

/** Path of the current version. */
export const currentClientPath = `/client-${packages.at(-1)?.[0]}.tgz`;

function packagePage(file: string): () => Response {
  const headers = {
    'Content-Type': 'application/gzip',
    'Cache-Control': 'no-cache',
    'X-Content-Type-Options': 'nosniff',
  };
  const body = new Blob([readFileSync(file)]);
  return () => new Response(body, { headers });
}
