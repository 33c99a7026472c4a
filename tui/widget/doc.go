// Package widget is what screens are made of: lines of text in roles, themes, a
// window on a list, a text that can be searched and folded, a sheet that is read
// from above. It knows nothing of xDS, nor of the screen: what is drawn and what
// stands for names comes as values.
package widget
