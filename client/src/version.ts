/** The version of this client, as in package.json. */
export const version = '1.2.0';
