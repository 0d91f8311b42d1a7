/** The OpenAPI document of the admin API, as text: its servers are named relative to where it is served. */
export async function adminOpenapi(): Promise<string> {
  const { default: document } = await import('../../../contract/admin-openapi.json', {
    with: { type: 'json' },
  });
  return JSON.stringify(document);
}
