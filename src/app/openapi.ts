import document from '../../contract/openapi.json' with { type: 'json' };
import type { Config } from '../config.ts';
import { basePath } from '../contract/operations.ts';

export type Deployment = Pick<Config, 'publicUrl' | 'stagingUrl' | 'operatorUrl' | 'operatorEmail'>;

/**
 * The promised OpenAPI document, with the servers and the contact of this deployment. Without a public address it names `listening`,
 * where the service listens, and never what a client says of it: generated clients cannot use a relative one.
 */
export function openapiText(
  { publicUrl, stagingUrl, operatorUrl: url, operatorEmail: email }: Deployment,
  listening: string,
): string {
  const servers = [{ url: `${publicUrl ?? listening}${basePath}`, description: 'Production' }];
  if (stagingUrl !== undefined) servers.push({ url: `${stagingUrl}${basePath}`, description: 'Staging' });
  const contact = { ...(url !== undefined && { url }), ...(email !== undefined && { email }) };
  const info = Object.keys(contact).length === 0 ? document.info : { ...document.info, contact };
  return JSON.stringify({ ...document, info, servers }, undefined, 2);
}
