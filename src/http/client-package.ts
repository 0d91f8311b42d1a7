/** The TypeScript client as an npm package, for clients that have nothing but the address of this service. */
import { readFileSync } from 'node:fs';
import packagePath from '../../assets/client/client.tgz' with { type: 'file' };

export const clientPackagePath = '/client.tgz';

export function clientPackage(): () => Response {
  const body = new Blob([readFileSync(packagePath)]);
  const headers = {
    'Content-Type': 'application/gzip',
    'Cache-Control': 'no-cache',
    'X-Content-Type-Options': 'nosniff',
  };
  return () => new Response(body, { headers });
}
