import document from '../../contract/openapi.json' with { type: 'json' };
import type { Config } from '../config.ts';
import { basePath } from '../contract/operations.ts';

type Servers = Pick<Config, 'publicUrl' | 'stagingUrl'>;

/**
 * The promised OpenAPI document, with the servers of this configuration. Without a public address it names `listening`,
 * where the service listens, and never what a client says of it: generated clients cannot use a relative one.
 */
export function openapiText({ publicUrl, stagingUrl }: Servers, listening: string): string {
  const servers = [{ url: `${publicUrl ?? listening}${basePath}`, description: 'Production' }];
  if (stagingUrl !== undefined) servers.push({ url: `${stagingUrl}${basePath}`, description: 'Staging' });
  return JSON.stringify({ ...document, servers }, undefined, 2);
}
