import document from '../../contract/openapi.json' with { type: 'json' };
import type { Config } from '../config.ts';
import { basePath } from '../contract/operations.ts';

export type Deployment = Pick<Config, 'publicUrl' | 'stagingUrl' | 'operatorUrl' | 'operatorEmail'>;

/**
 * The published OpenAPI document, with the servers and contact of this deployment. The server URL defaults to
 * `listening`, the address the service listens on. A relative URL would not work in generated clients, and the Host
 * header of a request is not trusted.
 */
export function openapiDocument(
  { publicUrl, stagingUrl, operatorUrl: url, operatorEmail: email }: Deployment,
  listening: string,
): string {
  const servers = [{ url: `${publicUrl ?? listening}${basePath}`, description: 'Production' }];
  if (stagingUrl !== undefined) servers.push({ url: `${stagingUrl}${basePath}`, description: 'Staging' });
  const contact = { ...(url !== undefined && { url }), ...(email !== undefined && { email }) };
  const info = Object.keys(contact).length === 0 ? document.info : { ...document.info, contact };
  return JSON.stringify({ ...document, info, servers }, undefined, 2);
}
