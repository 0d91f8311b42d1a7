export const maxBodyBytes = 16_384;

/**
 * Maximum body of a sign-in in bytes. It needs no credentials, and parsing many invalid members takes time.
 */
export const maxSignInBytes = 1_024;

export const maxUploadBytes = 1_073_741_824;

/** Maximum size of a preview of an import, in bytes. */
export const maxPreviewBytes = 65_536;

/** Maximum number of mistakes in an error. A request of 16 KiB can have thousands. */
export const maxDetails = 20;
/** Maximum length of a name in an error, in UTF-16 code units. Longer ones are truncated. */
export const maxNameLength = 64;
