import document from '../../contract/openapi.json' with { type: 'json' };
import type { Config } from '../config.ts';
import { basePath } from '../contract/operations.ts';

/** The promised OpenAPI document, with the servers of this configuration. */
export function openapiText({ publicUrl, stagingUrl }: Pick<Config, 'publicUrl' | 'stagingUrl'>): string {
  const servers = [{ url: `${publicUrl ?? ''}${basePath}`, description: 'Production' }];
  if (stagingUrl !== undefined) servers.push({ url: `${stagingUrl}${basePath}`, description: 'Staging' });
  return JSON.stringify({ ...document, servers }, undefined, 2);
}
