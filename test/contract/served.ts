/** The committed OpenAPI documents, and the documents that a running service serves, with its URL. */
import { openapiDocument } from '../../src/app/openapi.ts';

const folder = new URL('../../contract/', import.meta.url);
export const clientText = await Bun.file(new URL('openapi.json', folder)).text();
export const adminText = await Bun.file(new URL('admin-openapi.json', folder)).text();

const operatorUrl = 'https://example.com/support';

export const servedClient = openapiDocument(
  {
    publicUrl: 'https://animals.example.org',
    stagingUrl: undefined,
    operatorUrl,
    operatorEmail: 'api@example.com',
  },
  '',
);

const admin = JSON.parse(adminText) as { readonly info: object };
export const servedAdmin = JSON.stringify({
  ...admin,
  info: { ...admin.info, contact: { url: operatorUrl } },
  servers: [{ url: 'https://admin.example.org/admin/v1' }],
});
