/** How many people a list asks for at once. Whatever asks for fewer is a preview, or a badge. */
export const PAGE_SIZE = 20;
