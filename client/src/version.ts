/** The version in package.json. */
export const version = '1.1.0';
